// Work on 0..count in pieces of at most `size`, after each of which a caller may pause: it gets null.
export function* inPieces(count, size, work) {
  for (let begin = 0; begin < count; begin += size) {
    work(begin, Math.min(begin + size, count));
    yield null;
  }
}
