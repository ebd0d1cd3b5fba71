// One worker for all labs of a page, made from this very module's text; where workers are forbidden, the page.
let wish = null;
const labs = new Map();

function receive(message) {
  labs.get(message.lab)?.(message);
}

function start() {
  try {
    const text = `const { workshop } = (${defineEngine})();
      const wish = workshop((message, transfer) => postMessage(message, transfer));
      onmessage = (event) => wish(event.data);`;
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    worker.onerror = () => { wish = defineEngine().workshop(receive); labs.forEach((_, lab) => receive({ lab, lost: true })); };
    worker.onmessage = (event) => receive(event.data);
    return (message) => worker.postMessage(message);
  } catch {
    return defineEngine().workshop(receive);
  }
}

export function register(lab, listener) {
  labs.set(lab, listener);
}

export function train(message) {
  wish ??= start();
  wish(message);
}
