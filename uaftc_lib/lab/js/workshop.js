// Trains what it is asked to, newest wish first, in slices, so that a page that has no worker stays responsive.
import { kindsOf, synthetic } from "./corpus.js";
import { train } from "./trainer.js";

const SLICE = 10, WORTH_FINISHING = 300;  // milliseconds

function pause() {
  return new Promise((resume) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resume(); };
    port2.postMessage(0);
  });
}

// post(message, transfer) gets, for each wish: {problem} where the corpus is another, {snapshot} after every
// epoch, {done}. A wish is {lab, job, config, at_once}, and the first one about real data brings the corpus; a
// newer wish of the same lab replaces an older one.
export function workshop(post) {
  const wishes = new Map(), problems = new Map(), given = new Map();
  let busy = false;

  function problemOf({ config }) {
    const { data, seed, noise, ratio, instances } = config, corpus = given.get(data);
    const key = data === "synthetic" ? JSON.stringify([seed, noise, ratio, instances]) : data;
    if (!problems.has(key)) {
      if (problems.size > 3) problems.delete(problems.keys().next().value);
      problems.set(key, data === "synthetic" ? synthetic(config) : { ...corpus, kinds: kindsOf(corpus.train, corpus.types) });
    }
    return { key, ...problems.get(key) };
  }

  async function work() {
    busy = true;
    for (let wish; (wish = wishes.values().next().value); ) {
      const { lab, job, config } = wish, started = performance.now();
      wishes.delete(lab);
      const problem = problemOf(wish);
      post({ lab, job, problem: { key: problem.key, types: problem.types, kinds: problem.kinds, train: problem.train } });
      let slice = started, done = 0, replaced = false;
      for (const snapshot of train(problem, config)) {
        if (snapshot) {
          done = snapshot.epoch / config.epochs;
          post({ lab, job, snapshot }, Object.values(snapshot).filter(ArrayBuffer.isView).map((array) => array.buffer));
        }
        if (performance.now() - slice > SLICE) {
          await pause();
          slice = performance.now();
          const left = ((slice - started) * (1 - done)) / (done || 0.01);
          if ((replaced = wishes.has(lab) && (wishes.get(lab).at_once || left > WORTH_FINISHING))) break;
        }
      }
      if (!replaced) post({ lab, job, done: performance.now() - started });
    }
    busy = false;
  }

  return (wish) => {
    if (wish.corpus) given.set(wish.config.data, wish.corpus);
    wishes.delete(wish.lab);
    wishes.set(wish.lab, wish);
    if (!busy) work();
  };
}
