// Trains what it is asked to, newest wish first, in slices, so that a page that has no worker stays responsive.
import { synthetic } from "./corpus.js";
import { train } from "./trainer.js";

// Milliseconds. While a slider moves, a run is left for a newer one if it has had time to be seen, and is far from done.
const SLICE = 10, SEEN = 100, WORTH_FINISHING = 300;

function pause() {
  return new Promise((resume) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resume(); };
    port2.postMessage(0);
  });
}

// post(message, transfer) gets, for each wish: {problem}, {snapshot} after every epoch, {done}, or at any time
// {failed}. A wish is {lab, job, config, at_once}; a newer one of the same lab replaces an older one.
export function workshop(post) {
  const wishes = new Map(), problems = new Map();
  let busy = false;

  function* problemOf(config) {
    const { seed, noise, ratio, instances } = config, key = JSON.stringify([seed, noise, ratio, instances]);
    if (!problems.has(key)) {
      if (problems.size > 3) problems.delete(problems.keys().next().value);
      problems.set(key, yield* synthetic(config));
    }
    return problems.get(key);
  }

  // All messages that a wish leads to, and null where one may pause.
  function* answers({ lab, job, config }) {
    const started = performance.now(), problem = yield* problemOf(config);
    yield { lab, job, problem };
    for (const snapshot of train(problem, config)) yield snapshot && { lab, job, snapshot };
    yield { lab, job, done: performance.now() - started };
  }

  function send(message) {
    const arrays = Object.values(message.snapshot ?? {}).filter(ArrayBuffer.isView);
    post(message, arrays.map((array) => array.buffer));
  }

  async function fulfil(wish) {
    const started = performance.now(), { lab, config } = wish;
    let slice = started, share = 0;
    for (const message of answers(wish)) {
      if (message) send(message);
      share = (message?.snapshot?.epoch ?? 0) / config.epochs || share;
      if (performance.now() - slice < SLICE) continue;
      await pause();
      slice = performance.now();
      const newer = wishes.get(lab), spent = slice - started, left = (spent * (1 - share)) / (share || 0.01);
      if (newer && (newer.at_once || (spent > SEEN && left > WORTH_FINISHING))) return;
    }
  }

  async function work() {
    busy = true;
    for (let wish; (wish = wishes.values().next().value); ) {
      wishes.delete(wish.lab);
      try {
        await fulfil(wish);
      } catch (error) {
        post({ lab: wish.lab, job: wish.job, failed: error.message });
      }
    }
    busy = false;
  }

  return {
    answers,
    wish(wish) {
      wishes.delete(wish.lab);
      wishes.set(wish.lab, wish);
      if (!busy) work();
    },
    // For a page that is about to be printed and cannot wait.
    hurry(wish) {
      for (const message of answers(wish)) if (message) send(message);
    },
  };
}
