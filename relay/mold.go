package relay

import (
	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// mold remembers how a caller's latest request began, up to its payload and except for its id and the id
// of the service: the next one that starts alike is parsed by comparing, and only its payload is scanned.
// Everything else about it is decided as for any other request.
type mold struct {
	in      []byte        // a line up to its payload; empty: nothing is remembered
	message codec.Message // what codec.Parse found in it
	epoch   uint32        // of the configuration: its limits held for what is remembered
	shape   [2]uint32     // where service id and payload of the latest request stood, from the end of its id
	used    bool          // since it was filled
	pause   int
}

// press parses a request that starts like the one before into m. It reports false when the long way is
// needed; m is then of no use.
func (x *mold) press(line []byte, epoch uint32, depthMax int, m *codec.Message) bool {
	id := x.message.ID
	if x.epoch != epoch || len(line) <= int(id.Off) || string(line[:id.Off]) != string(x.in[:id.Off]) {
		return false
	}
	end := idEnd(line, int(id.Off))
	shift := end - int(id.End)
	payload, gap := len(x.in)+shift, int(x.message.ServiceID.Off)+1+shift
	if end < 0 || len(line) < payload+3 ||
		string(line[end:gap]) != string(x.in[id.End:gap-shift]) ||
		string(line[gap+table.ServiceIDBytes:payload]) != string(x.in[gap-shift+table.ServiceIDBytes:]) ||
		!codec.IsPlain(line[gap:gap+table.ServiceIDBytes]) {
		return false
	}
	last := len(line) - 2
	if line[last] != '}' || line[last+1] != '}' || codec.SkipValue(line[:last], payload, depthMax-2) != last {
		return false
	}
	*m = x.message
	m.ID.End, m.IDKind = uint32(end), codec.IDNumber
	if line[id.Off] == '"' {
		m.IDKind = codec.IDString
	}
	for _, s := range [...]*codec.Span{&m.MethodText, &m.Params, &m.Channel, &m.ServiceID, &m.Name, &m.Payload} {
		if s.Off > id.Off {
			s.Off, s.End = uint32(int(s.Off)+shift), uint32(int(s.End)+shift)
		}
	}
	m.Payload.End, m.Params.End = uint32(last), uint32(last+1)
	x.used = true
	return true
}

// remember notes how a request begins that was parsed the long way. The first one of a shape is only a
// hint: traffic that varies gains nothing from being remembered.
func (x *mold) remember(line []byte, m *codec.Message, epoch uint32) {
	if shape := [2]uint32{m.ServiceID.Off - m.ID.End, m.Payload.Off - m.ID.End}; x.shape != shape {
		x.shape = shape
		return
	}
	if x.pause > 0 {
		x.pause--
		return
	}
	if len(x.in) > 0 && !x.used {
		x.in, x.pause = x.in[:0], prefixPause
		return
	}
	at, gap := int(m.Payload.Off), int(m.ServiceID.Off)+1
	if m.Payload.Absent() || at > prefixBytesMax || gap > at || m.ID.Off > m.ServiceID.Off || m.Duplicates != 0 || !m.TimeoutMs.Absent() ||
		int(m.ServiceID.End) != gap+table.ServiceIDBytes+1 || string(line[m.Payload.End:]) != "}}" || idEnd(line, int(m.ID.Off)) != int(m.ID.End) {
		return
	}
	x.in, x.message, x.epoch, x.used = append(x.in[:0], line[:at]...), *m, epoch, false
}

// idEnd returns the index behind a request id that starts at line[i], if it is a plain one: a
// non-negative integer, or a string without escapes; -1 for any other.
func idEnd(line []byte, i int) int {
	start := i
	if line[i] == '"' {
		for i++; i < len(line) && line[i] >= ' ' && line[i] < 0x7f && line[i] != '\\'; i++ {
			if line[i] == '"' {
				return i + 1
			}
		}
		return -1
	}
	for i < len(line) && line[i]-'0' <= 9 {
		i++
	}
	if i == start || line[start] == '0' && i > start+1 {
		return -1
	}
	return i
}
