package codec

// The members that most lines begin with, in their usual spelling, are recognized as a whole: that
// takes a comparison instead of a scan, and says the same.
const (
	usualVersion = `"jsonrpc":"2.0",`
	usualNotify  = `"method":"clientService/notify",`
	usualRequest = `"method":"clientService/request",`
	usualChannel = `"channel":"` + ChannelServices + `",`
)

// at reports whether text stands at b[i].
func at(b []byte, i int, text string) bool {
	return i+len(text) <= len(b) && string(b[i:i+len(text)]) == text
}

// usualEnvelope records the usual members of the envelope at b[i] and returns the index of the name
// behind them.
func (m *Message) usualEnvelope(b []byte, i int) int {
	if at(b, i, usualVersion) && m.seen&MemberJSONRPC == 0 {
		m.seen |= MemberJSONRPC
		m.Version = true
		i += len(usualVersion)
	}
	if !at(b, i, `"method":"clientS`) || m.seen&MemberMethod != 0 {
		return i
	}
	size := 0
	switch {
	case at(b, i, usualNotify):
		m.Method, size = MethodNotify, len(usualNotify)
	case at(b, i, usualRequest):
		m.Method, size = MethodRequest, len(usualRequest)
	default:
		return i
	}
	m.seen |= MemberMethod
	m.MethodText = Span{uint32(i + len(`"method":`)), uint32(i + size - 1)}
	return i + size
}

// usualParams does usualEnvelope's work for params.
func (m *Message) usualParams(b []byte, i int) int {
	if !at(b, i, usualChannel) || m.seen&MemberChannel != 0 {
		return i
	}
	m.seen |= MemberChannel
	m.Channel = Span{uint32(i + len(`"channel":`)), uint32(i + len(usualChannel) - 1)}
	return i + len(usualChannel)
}
