// A client of the relay in plain Node.js: lines over net and tls, messages over ws. It shares no code
// with the Go client, so that a mistake on the wire cannot hide behind both ends making it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";
import WebSocket from "ws";

const patience = 20_000; // ms for what must come

/** ca is the PEM of the authority that certificates are checked against. */
export const ca = process.env.INTEROP_CA ? readFileSync(process.env.INTEROP_CA) : undefined;

/** Peer is one connection: it sends lines and receives lines. */
export class Peer {
  #waiting = [];
  #lines = [];
  #end = null;

  /** open connects to tcp://, unix://, tls://, ws:// or wss://. */
  static open(url) {
    const peer = new Peer();
    return new Promise((resolve, reject) => {
      if (/^wss?:/.test(url)) peer.#openSocket(url, resolve, reject);
      else peer.#openStream(url, resolve, reject);
    });
  }

  #openStream(url, resolve, reject) {
    const u = new URL(url);
    const at = u.protocol === "unix:" ? { path: u.pathname } : { host: u.hostname, port: Number(u.port) };
    const stream = u.protocol === "tls:" ? tls.connect({ ...at, ca }) : net.connect(at);
    stream.once(u.protocol === "tls:" ? "secureConnect" : "connect", () => resolve(this));
    stream.once("error", (err) => (reject(err), this.#ended(err)));
    stream.once("end", () => this.#ended(new Error("end of stream")));
    stream.setEncoding("utf8");
    let rest = "";
    stream.on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      lines.forEach((line) => this.#received(line));
    });
    this.send = (...lines) => stream.write(lines.map((line) => line + "\n").join(""));
    this.close = () => stream.end();
  }

  #openSocket(url, resolve, reject) {
    const socket = new WebSocket(url, { ca });
    socket.once("open", () => resolve(this));
    socket.once("error", (err) => (reject(err), this.#ended(err)));
    socket.once("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#ended(new Error("closed with " + code));
    });
    socket.on("message", (data, binary) => {
      assert.equal(binary, false, "the relay sent a binary message");
      this.#received(data.toString());
    });
    socket.on("pong", (data) => this.#received("pong " + data));
    this.send = (...lines) => lines.forEach((line) => socket.send(line));
    this.ping = (data) => socket.ping(data);
    this.close = () => socket.close();
  }

  #received(line) {
    const waiting = this.#waiting.shift();
    if (waiting) waiting.resolve(line);
    else this.#lines.push(line);
  }

  #ended(err) {
    this.#end ??= err;
    this.#waiting.splice(0).forEach((waiting) => waiting.reject(err));
  }

  /** line resolves to the next line, and rejects at the end of the connection. */
  line() {
    if (this.#lines.length > 0) return Promise.resolve(this.#lines.shift());
    if (this.#end) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("nothing came")), patience);
      this.#waiting.push({ resolve: (line) => (clearTimeout(timer), resolve(line)), reject: (err) => (clearTimeout(timer), reject(err)) });
    });
  }

  /** expect asserts what the next lines are, byte for byte. */
  async expect(...lines) {
    for (const want of lines) assert.equal(await this.line(), want);
  }

  /** end asserts that nothing more comes and the connection is closed. */
  async end() {
    const line = await this.line().catch(() => null);
    assert.equal(line, null, "after the end came " + line);
  }

  /** request sends a request and resolves to the answer, which must be the next line. */
  async request(id, method, params) {
    this.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const answer = JSON.parse(await this.line());
    assert.equal(answer.jsonrpc, "2.0");
    assert.equal(answer.id, id);
    return answer;
  }

  /** result is request for one that must succeed. */
  async result(id, method, params) {
    const answer = await this.request(id, method, params);
    assert.ok("result" in answer, JSON.stringify(answer));
    return answer.result;
  }

  /** quiet asserts that nothing waits: the next line is the answer to a ping sent now. */
  async quiet() {
    assert.equal(await this.result("quiet", "ping", { channel: root }), null);
  }

  /** initialize shakes hands. */
  initialize(clientId, more = {}) {
    return this.result(0, "initialize", { channel: root, protocolVersions: ["1.0.0"], clientId, ...more });
  }
}

export const root = "ahp-root://";
export const services = "ahp-client-services://";

/** hello opens a connection and shakes hands. */
export async function hello(url, clientId) {
  const peer = await Peer.open(url);
  const result = await peer.initialize(clientId);
  assert.equal(result.clientServices.channel, services);
  return peer;
}

/** notify is a clientService/notify; params is raw JSON. */
export const notify = (serviceId, method, params) =>
  `{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"${services}","serviceId":"${serviceId}","method":"${method}","params":${params}}}`;

/** request is a clientService/request; id and params are raw JSON. */
export const request = (id, serviceId, method, params) =>
  `{"jsonrpc":"2.0","id":${id},"method":"clientService/request","params":{"channel":"${services}","serviceId":"${serviceId}","method":"${method}","params":${params}}}`;

/** answer is a result; id and result are raw JSON. */
export const answer = (id, result) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
