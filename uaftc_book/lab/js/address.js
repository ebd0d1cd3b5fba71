// The states of a page's live figures in its address.
// An address ends in #lab:name?lam=100&seed=3;other?lam=1 : what differs from the state a lab was published in.
export function difference(state, base) {
  const said = new URLSearchParams();
  for (const name of Object.keys(state)) {
    if (state[name] !== base[name]) said.set(name, state[name] ?? "none");
  }
  return said.toString();
}

// The wishes of an address, by the lab's name; `spoilt` is what to say of a part that cannot be read.
export function readAddress(hash) {
  const all = Object.assign(new Map(), { spoilt: "" });
  if (!hash.startsWith("#lab:")) return all;
  for (const part of hash.slice(5).split(";")) {
    const [name, query = ""] = part.split("?");
    const wanted = Object.fromEntries(new URLSearchParams(query));
    try {
      all.set(decodeURIComponent(name), wanted);
    } catch {
      all.spoilt = `“${name.slice(0, 40)}” in the address of this page cannot be read; that part is left out.`;
    }
  }
  return all;
}

// Puts the figures' parts into the address; those that `ours` does not name, of other figures, stay behind them.
export function replaceAddress(parts, ours) {
  const others = [...readAddress(location.hash)].filter(([name]) => !ours(name)).map(([name, wanted]) => [name, difference(wanted, {})]);
  const said = [...parts, ...others].filter(([, query]) => query).map(([name, query]) => `${encodeURIComponent(name)}?${query.replaceAll(";", "%3B")}`);
  const hash = said.length ? `#lab:${said.join(";")}` : "";
  if (hash === location.hash || (!hash && !location.hash.startsWith("#lab:"))) return;
  history.replaceState(null, "", hash || location.pathname + location.search);
}
