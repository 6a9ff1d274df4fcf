// node stock.mjs URL: what a client of AHP that knows nothing of client services may expect.
import assert from "node:assert/strict";
import { Peer, root, services } from "./wire.mjs";

const url = process.argv[2];
const supported = ["^1.0.0", "^0.9.0", "^0.8.0", "^0.7.0", "^0.6.0", "^0.5.0", "^0.4.0", "^0.3.0"];
let clients = 0;
const clientId = () => `stock-${process.pid}-${clients++}`;
const offers = (protocolVersions, more) => ({ channel: root, protocolVersions, clientId: clientId(), ...more });

/** versions: the highest that both sides can speak is picked, spelled as it was offered. */
async function versions() {
  for (const [offered, picked] of [
    ...["0.3.0", "0.3.9", "0.4.0", "0.5.2", "0.6.1", "0.7.0", "0.8.0", "0.9.0", "1.0.0", "1.7.3"].map((v) => [[v], v]),
    [["1.0.0", "0.9.0", "0.3.0"], "1.0.0"],
    [["0.3.0", "0.10.0", "0.9.12", "0.9.2"], "0.9.12"],
    [["2.0.0", "0.5.2", "0.5.1"], "0.5.2"],
  ]) {
    const peer = await Peer.open(url);
    const result = await peer.result(1, "initialize", offers(offered));
    assert.equal(result.protocolVersion, picked);
    assert.equal(result.serverInfo.name, "ahprelay");
    assert.deepEqual(result.snapshots, []);
    assert.ok(Number.isSafeInteger(result.serverSeq));
    peer.close();
  }
  for (const offered of [["2.0.0"], ["0.2.9", "0.10.0"]]) {
    const peer = await Peer.open(url);
    const { error } = await peer.request(1, "initialize", offers(offered));
    assert.equal(error.code, -32005);
    assert.deepEqual(error.data, { supportedVersions: supported });
    assert.equal(JSON.parse(await peer.line()).params.reason, "unsupportedVersion");
    await peer.end();
  }
  const peer = await Peer.open(url);
  for (const offered of [[], ["1.0"], ["1.0.0-rc.1"], "1.0.0"]) {
    assert.equal((await peer.request(1, "initialize", offers(offered))).error.code, -32602);
  }
  assert.equal(await peer.result(2, "ping", { channel: root }), null); // before the handshake too
  assert.equal((await peer.request(3, "subscribe", { channel: root })).error.code, -32600);
  peer.close();
}

/** lifecycle: what a session with the root channel looks like. */
async function lifecycle() {
  const peer = await Peer.open(url);
  const result = await peer.result(1, "initialize", {
    ...offers(["0.5.2", "0.5.1"], { initialSubscriptions: [root, "ahp-session:/none"], locale: "en-US", capabilities: { anything: true } }),
    clientInfo: { name: "a stock client", version: "2.5.0" },
    _meta: { trace: 1 },
  });
  assert.deepEqual(result.snapshots.map(({ resource, state }) => ({ resource, state })), [{ resource: root, state: { agents: [] } }]);
  assert.equal((await peer.request(2, "initialize", offers(["1.0.0"]))).error.code, -32600);

  const { snapshot } = await peer.result(3, "subscribe", { channel: root });
  assert.deepEqual(snapshot.state, { agents: [] });
  for (const channel of ["ahp-session:/none", "ahp-terminal:/none", "x"]) {
    assert.equal((await peer.request(4, "subscribe", { channel })).error.code, -32008);
  }
  const unanswered = (method, params) => JSON.stringify({ jsonrpc: "2.0", method, params });
  peer.send(
    unanswered("unsubscribe", { channel: root }),
    unanswered("unsubscribe", { channel: "ahp-session:/none" }),
    unanswered("dispatchAction", { channel: root, clientSeq: 1, action: { type: "root/activeSessionsChanged", activeSessions: 0 } }),
    unanswered("no/suchNotification", { channel: root }),
    unanswered("x-vendor/anything"),
    unanswered("initialize", { channel: root }),
  );
  await peer.quiet();
  for (const method of ["createSession", "disposeSession", "listSessions", "fetchTurns", "resourceRead", "resourceList", "createTerminal", "completions", "shutdown", "x-vendor/anything"]) {
    const { error } = await peer.request(5, method, { channel: root });
    assert.equal(error.code, -32601, method);
  }
  assert.equal((await peer.request(6, "unsubscribe", { channel: root })).error.code, -32600);
  assert.equal((await peer.request(7, "authenticate", { channel: root, resource: "https://elsewhere.example", token: "x" })).error.code, -32602);
  peer.close();
}

/** reconnect: on a new transport, after the old one broke. */
async function reconnect() {
  const id = clientId();
  const again = (peer, lastSeenServerSeq, more) =>
    peer.request(1, "reconnect", { channel: root, clientId: id, lastSeenServerSeq, subscriptions: [root, services, "ahp-session:/none"], ...more });
  let peer = await Peer.open(url);
  const first = await peer.result(1, "initialize", { channel: root, protocolVersions: ["1.0.0"], clientId: id, initialSubscriptions: [root, services] });
  // While the old connection lives its clientId is taken, unless the new one proves to be the same client.
  let next = await Peer.open(url);
  assert.equal((await again(next, first.serverSeq)).error.code, -32010);
  const taken = await again(next, first.serverSeq, { _meta: { "ahprelay.resumeToken": first._meta["ahprelay.resumeToken"] } });
  assert.equal(taken.result.protocolVersion, "1.0.0");
  assert.equal(JSON.parse(await peer.line()).params.reason, "superseded");
  await peer.end();
  next.close();
  await next.end();

  peer = await Peer.open(url);
  const { result } = await again(peer, first.serverSeq);
  assert.ok(["replay", "snapshot"].includes(result.type), JSON.stringify(result));
  if (result.type === "replay") assert.deepEqual([result.actions, result.missing], [[], ["ahp-session:/none"]]);
  else assert.deepEqual(result.snapshots.map((s) => s.resource), [root, services]);
  assert.equal((await again(peer, 0)).error.code, -32600);
  await peer.quiet();
  peer.close();
  await peer.end();

  peer = await Peer.open(url); // a number that the relay never issued
  const fresh = (await again(peer, 1)).result;
  assert.equal(fresh.type, "snapshot");
  assert.deepEqual(fresh.snapshots.map((s) => s.resource), [root, services]);
  peer.close();
}

await versions();
await lifecycle();
await reconnect();
console.log("ok");
