package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutation is one way to break the core: old, which must be there exactly once, becomes new.
type mutation struct {
	name, file, old, new string
}

// apply returns the file of the module at root as the mutation makes it.
func (m mutation) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return nil, fmt.Errorf("%s: %q is %d times in %s", m.name, m.old, n, m.file)
	}
	return []byte(strings.Replace(string(text), m.old, m.new, 1)), nil
}

var mutations = []mutation{
	// Requests and answers.
	{"an answer to an earlier request of the slot counts", "table/slot.go", "t.slots[i].generation != relayID>>t.indexBits || ", ""},
	{"anybody may answer", "relay/answer.go", " || c.services.At(c.slots.At(i).Service).Owner != p.index", ""},
	{"the caller is answered twice", "relay/request.go", "\t\tc.complete(caller, c.slots.ID(i), &o)\n", "\t\tc.complete(caller, c.slots.ID(i), &o)\n\t\tc.complete(caller, c.slots.ID(i), &o)\n"},
	{"a late answer is delivered", "relay/answer.go", "if c.slots.At(i).State == table.SlotGhost {", "if c.slots.At(i).State == table.SlotFree {"},
	{"the relay's own codes pass from owners", "relay/answer.go", " && !codec.Code(e.Code).RelayOnly()", ""},
	{"an answer with result and error passes", "relay/answer.go", "result != nil && failure != nil || ", ""},
	{"a request id in flight is accepted again", "relay/dispatch.go", "if p.inflight.Used > 0 {", "if false {"},
	{"requests never time out", "relay/request.go", "\tc.timers.Add(i, c.now+timeout)\n", ""},
	{"requests time out early", "relay/request.go", "\tc.timers.Add(i, c.now+timeout)\n", "\tc.timers.Add(i, c.now+timeout/2)\n"},
	{"timeoutMs is not capped", "relay/request.go", "if ms, ok := codec.Integer(raw); ok && ms < timeout.Milliseconds() {", "if ms, ok := codec.Integer(raw); ok {"},
	{"the owner does not hear of the end of a request", "relay/request.go", "\t\tc.cancelAtOwner(c.peers[s.Owner], c.slots.RelayID(i))\n\t\tc.slots.Haunt(i)\n", "\t\t_ = s\n\t\tc.slots.Haunt(i)\n"},
	{"the owner does not hear that the caller is gone", "relay/request.go", "outcome{silent: true, cancel: true, kind: OutcomeCallerGone}", "outcome{silent: true, kind: OutcomeCallerGone}"},
	{"anybody may cancel", "table/slot.go", "s.Caller == caller && string(t.ID(i)) == string(id)", "string(t.ID(i)) == string(id)"},
	{"the end of a service leaves its callers waiting for a timeout", "relay/request.go", "c.finish(i, outcome{code: codec.CodeUnavailable, kind: OutcomeUnavailable})", "c.finish(i, outcome{code: codec.CodeTimeout, kind: OutcomeTimeout})"},

	// Charges.
	{"the service does not get its charge back", "relay/request.go", "\tc.services.At(c.slots.At(i).Service).Inflight.Give(1)\n", ""},
	{"the caller does not get its charge back", "relay/request.go", "\tc.peers[slot.Caller].inflight.Give(1)\n", ""},
	{"the principal does not get its charge back", "relay/request.go", "\tc.usages[slot.Principal].inflight.Give(1)\n", ""},
	{"charges end with the cancellation", "relay/request.go", "\t\tc.slots.Haunt(i)\n\t\tif o.silent {\n\t\t\tc.unchargeCaller(i)\n\t\t}\n\t\tc.timers.Add(i, c.now+c.limits.RequestTimeout)\n\t\treturn\n", "\t\tc.free1(i)\n\t\treturn\n"},
	{"charges of cancelled requests never end", "relay/request.go", "\t\tc.timers.Add(i, c.now+c.limits.RequestTimeout)\n", ""},
	{"another principal does not pay for the catalogue", "relay/regrade.go", "\t\tp.usage.catalogBytes.Used += p.bytes\n", ""},
	{"catalogue changes are not paced", "relay/peer.go", "if b.spent+1000 > CatalogChangesBurst*1000 {", "if false {"},

	// Notifications and order.
	{"dropped notifications are not counted", "relay/notify.go", "\ts.Dropped++\n", ""},
	{"dropped notifications are counted twice", "relay/notify.go", "\ts.Dropped++\n", "\ts.Dropped += 2\n"},
	{"a request does not bring news of the gap before it", "relay/request.go", "\tif s.Dropped > 0 {\n\t\tb.B = c.appendDropped(b.B, s)\n\t}\n", ""},
	{"news of the gap comes after the message", "relay/notify.go", "\tif s.Dropped > 0 {\n\t\tb.B = c.appendDropped(b.B, s)\n\t}\n\tstart := len(b.B)\n\tb.B = codec.AppendNotification(b.B, s.ID, p.client, p.label, method, params)\n", "\tstart := len(b.B)\n\tb.B = codec.AppendNotification(b.B, s.ID, p.client, p.label, method, params)\n\tif s.Dropped > 0 {\n\t\tb.B = c.appendDropped(b.B, s)\n\t}\n"},
	{"notifications are taken again too early", "relay/output.go", "p.out.size < c.limits.QueueBytesSoft/4", "p.out.size < c.limits.QueueBytesSoft/2"},
	{"something is sent back for a notification", "relay/dispatch.go", "\tdefault:\n\t\tc.counters.Ignored++\n\t}\n}\n\n// request handles", "\tdefault:\n\t\tc.fail(p, nil, codec.CodeMethodNotFound, \"\", nil)\n\t}\n}\n\n// request handles"},
	{"a remembered beginning outlives a reload", "relay/prefix.go", " || x.epoch != c.epoch", ""},
	{"a remembered beginning skips the rights", "relay/prefix.go", "s == nil || s.Rights[p.principal]&(rightDiscover|rightNotify) != rightDiscover|rightNotify || c.anonymous(p)", "s == nil"},
	{"a remembered beginning skips the overload", "relay/prefix.go", "s.Dropped > 0 || owner.shedding || owner.out.size > c.limits.QueueBytesSoft/2", "false"},
	{"a remembered beginning skips the payload", "relay/prefix.go", " || codec.SkipValue(line[:end], n, c.limits.DepthMax-2) != end {", " {"},
	{"a remembered request outlives a reload", "relay/mold.go", "x.epoch != epoch || ", ""},
	{"a remembered request skips the end of the line", "relay/mold.go", "if line[last] != '}' || line[last+1] != '}' || codec.SkipValue(", "if codec.SkipValue("},
	{"a remembered request allows a number with a leading zero", "relay/mold.go", " || line[start] == '0' && i > start+1", ""},
	{"a remembered request nests deeper", "relay/mold.go", "codec.SkipValue(line[:last], payload, depthMax-2)", "codec.SkipValue(line[:last], payload, depthMax)"},

	// Rights.
	{"the right to notify is not asked for", "relay/notify.go", "s.Rights[p.principal]&(rightDiscover|rightNotify) != rightDiscover|rightNotify && !c.ownNotify(p, s)", "!c.visible(p, s)"},
	{"the right to request is not asked for", "relay/request.go", "case s.Rights[p.principal]&rightRequest == 0:", "case false:"},
	{"what may not be seen may be asked", "relay/request.go", "\tcase s == nil || !c.visible(p, s):\n\t\tc.refuse(", "\tcase s == nil:\n\t\tc.refuse("},
	{"a reload leaves services that may not be registered", "relay/regrade.go", "if !next.mayRegister(p.next, s.Protocol, s.HasProtocol) {", "if false {"},
	{"a reload leaves requests without a right", "relay/regrade.go", "\t\tc.failUnentitled(s, rows[s.Index])\n", ""},
	{"the lost credential is not announced", "relay/regrade.go", "p.cred.kind != credentialNone && creds[i].kind == credentialNone && p.state <= stateOpen", "false"},

	// Catalogue and reconnect.
	{"everybody hears of every service", "relay/catalog.go", "o.index != s.Owner && rights[o.principal]&rightDiscover != 0", "o.index != s.Owner"},
	{"a snapshot shows every service", "relay/subscribe.go", "\t\t\tif !c.visible(p, s) {\n\t\t\t\tcontinue\n\t\t\t}\n\t\t\tif !first {", "\t\t\tif !first {"},
	{"the action comes before the response", "relay/catalog.go", "\tc.reply(p, id, append(append(append(c.scratch[:0], `{\"serviceId\":\"`...), s.ID...), `\"}`...))\n\tc.publishSet(s, nil)\n", "\tc.publishSet(s, nil)\n\tc.reply(p, id, append(append(append(c.scratch[:0], `{\"serviceId\":\"`...), s.ID...), `\"}`...))\n"},
	{"nobody hears that a service is gone", "relay/catalog.go", "\tc.publishRemoved(s, s.Rights, true)\n", ""},
	{"a service id is made again", "table/service.go", "\tt.generations[index]++\n", ""},
	{"a replay shows every action", "relay/lifecycle.go", "return a.Rights[p.principal]&rightDiscover != 0 || a.Owner == p.clientID", "return true"},
	{"a replay repeats the last action", "table/replay.go", "if r.at(mid).Seq > seq {", "if r.at(mid).Seq >= seq {"},
	{"a replay leaves out what has fallen out of the buffer", "table/replay.go", "\tif seq < r.floor {", "\tif false {"},
	{"a replay crosses a change of rights", "relay/lifecycle.go", "was.Epoch != pr.epoch || seen < was.Since || ", "pr == nil || "},
	{"a reconnect takes over another principal's past", "relay/lifecycle.go", "known = known && was.Principal == pr.name", "known = known && pr != nil"},
	{"anybody may supersede", "relay/lifecycle.go", "return ok && equalSecret(given, old.resumeToken)", "return ok && given != \"\""},

	// Bounds, time and endings.
	{"an output has no bound", "relay/output.go", "if p.out.size > c.limits.QueueBytesHard {\n\t\tc.condemn(p, ReasonSlowConsumer, \"unsent output over queue_bytes_hard\")", "if false {\n\t\tc.condemn(p, ReasonSlowConsumer, \"\")"},
	{"requests pile up at an owner that does not read", "relay/request.go", "owner.out.size > c.limits.QueueBytesSoft || owner.doomed", "owner.doomed"},
	{"memory has no bound", "relay/output.go", "for c.Memory()-c.leaving > c.reclaim && c.reclaimMemory() {", "for c.Memory() < 0 && c.reclaimMemory() {"},
	{"a connection may have any number of services", "relay/catalog.go", "case p.owned.Len >= c.limits.ServicesPerConnectionMax:", "case p.owned.Len < 0:"},
	{"surplus connections are let in", "relay/peer.go", "full := c.limits.ConnectionsMax > 0 && c.admitted >= c.limits.ConnectionsMax", "full := c.limits.ConnectionsMax > 0 && c.admitted > c.limits.ConnectionsMax"},
	{"the end of a slow consumer cuts a line", "relay/output.go", "\tif o.midway {", "\tif false {"},
	{"memory that is written is not given back", "relay/output.go", "\t\tc.memory -= int64(n)\n", ""},
	{"a stalled reader is kept", "relay/output.go", "\tif p.out.blocked != was {\n\t\tc.rearm(p)\n\t}\n", "\t_ = was\n"},
	{"the handshake may take forever", "relay/peer.go", "\tcase c.unfinished(p):\n\t\tat = min(", "\tcase false:\n\t\tat = min("},
	{"the core is called too late", "relay/relay.go", "aok && (!ok || a < at)", "aok && !ok"},
	{"far timers are forgotten", "table/wheel.go", "\t\tif w.tick&levelMask == 0 {\n\t\t\tw.cascade()\n\t\t}\n", ""},
	{"one protocol error more is forgiven", "relay/receive.go", "p.protocolErrors >= c.limits.ProtocolErrorsMax", "p.protocolErrors > c.limits.ProtocolErrorsMax"},
	{"requests are taken while draining", "relay/request.go", "\tcase c.draining:\n\t\tc.refuse(", "\tcase false:\n\t\tc.refuse("},
	{"a half-closed peer loses its answers", "relay/peer.go", "if p.state == stateLinger || p.out.size == 0 {", "if true {"},
	{"an unfinished line is taken twice", "relay/receive.go", "\t\tdata = behind\n\t\tif status == codec.FrameMore {\n", "\t\tif status != codec.FrameMore {\n\t\t\tdata = behind\n\t\t}\n\t\tif status == codec.FrameMore {\n"},
	{"a zero may begin a longer number", "codec/tokens_simd.go", "{of(elseByte, minusByte), of(zeroByte), digits}", "{of(minusByte), of(zeroByte), digits}"},
	{"nul and null are alike", "codec/tokens_simd.go", "{of(uByte), of(lByte), ^of(lByte)}", "{of(uByte), of(lByte), ^of(lByte, elseByte)}"},
	{"a name needs no value", "codec/tokens_simd.go", "{beforeName, of(stringToken), ^of(colonToken)}", "{0, of(stringToken), ^of(colonToken)}"},
	{"a comma may come last", "codec/tokens_simd.go", "{anything, of(commaToken, colonToken), ^begin}", "{anything, of(commaToken, colonToken), ^(begin | shut)}"},
	{"a string ends where a block does", "codec/tokens_simd.s", "\tSARQ       $63, R8\n", "\tXORL       R8, R8\n"},
	{"control characters are welcome in strings", "codec/tokens_simd.s", "\tKMOVQ     K4, R11\n\tANDQ      DX, R11\n", "\tXORL       R11, R11\n"},
	{"three digits of four are checked", "codec/tokens_simd.s", "\tSHLQ      $4, R11\n", "\tXORL      R11, R11\n"},
	{"a number has a second dot", "codec/tokens_simd.s", "\tADDQ     R12, R11\n", "\tXORL     R11, R11\n"},
	{"a bracket closes what another kind has opened", "codec/tokens_simd.s", "\tORQ     R13, R15\n", "\tORQ     R15, R15\n"},
	{"the second chunk forgets the tokens before it", "codec/tokens_simd.s", "\tVMOVDQU8 (DX)(AX*1), Z12\n", "\tVMOVDQU8 (DX), Z12\n"},
	{"a remembered service may have gone", "relay/prefix.go", " || !s.Is(id) {", " {"},
}
