// Real sentences never travel with the book: a page that was built beside the data names a file with their
// token ids, and a live kernel sends them. Elsewhere the choice is greyed, with this reason.
export const NO_SST = "SST needs your own copy of the data: run “make book SST=1” on your machine, or open this in a live kernel.";

let loading = null;

export function sstAddress() {
  return document.querySelector('meta[name="uaftc-sst"]')?.content ?? null;
}

// What sst.py has packed, as typed arrays.
export function unpack({ words, splits }) {
  const corpora = {};
  for (const [name, { tokens, lengths, labels }] of Object.entries(splits)) {
    const offsets = new Int32Array(lengths.length + 1);
    lengths.forEach((length, t) => { offsets[t + 1] = offsets[t] + length; });
    corpora[name] = { tokens: Int32Array.from(tokens), offsets, labels: Int8Array.from(labels) };
  }
  return { words, corpus: { types: words.length, ...corpora } };
}

export function loadSST(ask) {
  loading ??= new Promise((resolve, reject) => {
    if (ask) { ask(resolve, reject); return; }
    const script = document.createElement("script");  // a classic one: file:// forbids fetch and modules
    script.src = new URL(sstAddress(), document.baseURI).href;
    script.onload = () => resolve(globalThis.uaftcSST);
    script.onerror = () => reject(new Error("the file with SST's token ids could not be read"));
    document.head.append(script);
  }).then(unpack);
  loading.catch(() => { loading = null; });  // the next wish may try again
  return loading;
}
