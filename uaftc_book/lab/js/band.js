// Steps 1 to 5 of uaftc_book/flat_flow.py, from inner products of V₀, W₀ and g₀, and of V₀ with the mean vectors: `split`,
// positive less negative words; `lead`, both less neutral ones. The λ below which both end above neutral words; ∞ if all λ are.
export function closedForm({ VV, WW, VW, gg, gV, gW, split, lead }, { polar, neutral, nu, share, noise = 0 }, time, steps = 60) {
  const u = share / (2 * polar * nu), h = Math.log1p(time) / steps;
  const product = (theta) => ((WW + gg) / 2) * Math.sinh(2 * theta) + gW * Math.cosh(2 * theta);
  const slope = (t, theta) => {  // τ = eᵗ − 1
    const odds = Math.exp(2 * nu * product(theta));
    return 2 * nu * Math.exp(t) * ((1 - noise) / (1 + odds) - noise / (1 + 1 / odds));
  };
  let theta = 0;
  for (let step = 0; step < steps; step++) {
    const t = step * h, a = slope(t, theta), b = slope(t + h / 2, theta + (h / 2) * a), c = slope(t + h / 2, theta + (h / 2) * b);
    theta += (h / 6) * (a + 2 * b + 2 * c + slope(t + h, theta + h * c));
  }
  const I = (Math.sinh(theta) ** 2 * (gg + WW) + Math.sinh(2 * theta) * gW) / 2;
  const against = Math.abs(split + 2 * u * ((Math.cosh(theta) - 1) * gV + Math.sinh(theta) * VW)) / 2 - lead;
  return against > 0 ? Math.max(((1 + polar / neutral) * u * u * (1 - share) * VV * I) / against, 0) : Infinity;
}
