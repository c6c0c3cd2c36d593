// Who answers the page's questions: xla2py in a worker of this tab, or the server that handed the page out.
// Both have `ask(question)`, which gives a promise of the answer, and `stop()`, which ends the question asked last.

const STOPPED = { stopped: true, errors: [{ code: "stopped", message: "it was stopped" }] };

export const connect = (site, report) => (site.backend === "server" ? new Server() : new Tab(site, report));

class Server {
  ready = Promise.resolve();

  async ask(question) {
    const body = JSON.stringify(question);
    try {
      const answer = await fetch("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      return answer.ok ? await answer.json() : failure(await answer.text());
    } catch {
      return failure("xla2py serve does not answer: has it ended?");
    }
  }

  async stop() {
    await fetch("stop", { method: "POST" });
  }
}

class Tab {
  #site; #report; #worker; #isReady; #waiting = new Map(); #next = 0;

  constructor(site, report) {
    this.#site = site;
    this.#report = report;
    this.#start();
  }

  #start() {
    this.#isReady = false;
    this.#worker = new Worker("worker.js", { type: "module" });
    this.ready = new Promise((resolve, reject) => {
      this.#worker.onmessage = ({ data }) => {
        if (data.progress) this.#report(data.progress);
        else if (data.ready) { this.#isReady = true; this.#report({ text: "", part: 1 }); resolve(); }
        else if (data.failed) reject(new Error(data.failed));
        else this.#settle(data.id, data.answer);
      };
      this.#worker.onerror = (event) => reject(new Error(event.message || "the worker could not be loaded"));
    });
    this.#worker.postMessage({ site: this.#site });
  }

  #settle(id, answer) {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  ask(question) {
    const id = this.#next++;
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    const send = () => this.#waiting.has(id) && this.#worker.postMessage({ id, question });
    this.ready.then(send, (error) => this.#settle(id, failure(error.message)));
    return answer;
  }

  // Python cannot be interrupted from outside, so the worker goes and another one comes; one that still starts may stay.
  async stop() {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, STOPPED);
    if (!this.#isReady) return;
    this.#worker.terminate();
    this.#start();
  }
}

const failure = (message) => ({ errors: [{ code: "page", message: message.trim() }] });
