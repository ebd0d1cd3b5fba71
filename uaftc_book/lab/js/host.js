// One worker for all labs of a page, made from this very module's text; where workers are forbidden, the page.
let shop = null, ownShop = null;
const labs = new Map();

function receive(message) {
  labs.get(message.lab)?.(message);
}

// The workshop on the page's own thread.
function here() {
  return (ownShop ??= defineEngine().workshop(receive));
}

function start() {
  try {
    const text = `const { workshop } = (${defineEngine})();
      const { wish } = workshop((message, transfer) => postMessage(message, transfer));
      onmessage = (event) => wish(event.data);`;
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    worker.onerror = () => {
      shop = here();
      labs.forEach((_, lab) => receive({ lab, lost: true }));
    };
    worker.onmessage = (event) => receive(event.data);
    return { wish: (message) => worker.postMessage(message) };
  } catch {
    return here();
  }
}

export function register(lab, listener) {
  labs.set(lab, listener);
}

export function train(wish) {
  shop ??= start();
  shop.wish(wish);
}

// Answers before it returns.
export function trainNow(wish) {
  here().hurry(wish);
}
