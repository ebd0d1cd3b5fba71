// Steps 1 to 5 of uaftc_book/flat_flow.py: the λ below which both classes end above the neutral words; ∞ if all λ are.
// From inner products before training: of V with the mean vectors, V and W; of W with itself; of g with V, W and itself. τ = eᵗ − 1.
export function closedForm([positive, negative, neutral, VV, VW, WW], [gV, gW, gg], { types, nu, share, noise = 0 }, time, steps = 60) {
  const polar = types[0] + types[1], u = share / (2 * polar * nu), h = Math.log1p(time) / steps;
  const margin = (theta) => nu * ((WW + gg) * Math.sinh(2 * theta) + 2 * gW * Math.cosh(2 * theta));
  const slope = (t, theta) => 2 * nu * Math.exp(t) * (1 / (1 + Math.exp(margin(theta))) - noise);
  let theta = 0;
  for (let t = h / 2, step = 0; step < steps; t += h, step++) {
    const a = slope(t - h / 2, theta), b = slope(t, theta + (h / 2) * a), c = slope(t, theta + (h / 2) * b);
    theta += (h / 6) * (a + 2 * b + 2 * c + slope(t + h / 2, theta + h * c));
  }
  const sinh = Math.sinh(theta), cosh = Math.cosh(theta), I = sinh * ((sinh * (gg + WW)) / 2 + cosh * gW);
  const gap = positive - negative + 2 * u * ((cosh - 1) * gV + sinh * VW), against = (Math.abs(gap) - positive - negative) / 2 + neutral;
  return against > 0 ? Math.max(((1 + polar / types[2]) * u * u * (1 - share) * VV * I) / against, 0) : Infinity;
}
