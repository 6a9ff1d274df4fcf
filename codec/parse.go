package codec

// Parse validates line, one frame without its LF, as RFC 8259 JSON in UTF-8 and sorts it into m, which
// it resets first. It reports false exactly when the line draws CodeParse; m is then zero.
//
// depthMax bounds the nesting, the outermost value counting 1. Nothing is allocated unless the line
// itself nests deeper than 128 levels. The spans of m are offsets into line, which is at most 4 GiB.
func Parse(line []byte, depthMax int, m *Message) bool {
	*m = Message{}
	i := skipSpace(line, 0)
	if i < len(line) && line[i] == '{' {
		i = parseEnvelope(line, i, depthMax, m)
	} else {
		i = skipValue(line, i, depthMax)
	}
	if i < 0 || skipSpace(line, i) != len(line) {
		*m = Message{}
		return false
	}
	m.sort()
	return true
}

// sort sets the kind by the members present.
func (m *Message) sort() {
	switch {
	case m.MethodText.Absent() && m.ID.Absent():
		m.Kind = KindNone
	case m.MethodText.Absent():
		m.Kind = KindAnswer
	case m.ID.Absent():
		m.Kind = KindNotification
	default:
		m.Kind = KindRequest
	}
}

// parseEnvelope scans the object that opens at b[i] and returns the index behind it, -1 when invalid.
func parseEnvelope(b []byte, i, depth int, m *Message) int {
	if depth < 1 {
		return -1
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		name, at := scanName(b, i)
		if at < 0 {
			return -1
		}
		member := envelopeMember(name)
		if member == MemberParams && m.Params.Absent() && at < len(b) && b[at] == '{' {
			i = parseParams(b, at, depth-1, m)
		} else {
			i = skipValue(b, at, depth-1)
		}
		if i < 0 {
			return -1
		}
		if member != 0 {
			m.recordEnvelope(member, b, at, i)
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

// parseParams scans the params object that opens at b[i] and returns the index behind it, -1 when
// invalid.
func parseParams(b []byte, i, depth int, m *Message) int {
	if depth < 1 {
		return -1
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		name, at := scanName(b, i)
		if at < 0 {
			return -1
		}
		if i = skipValue(b, at, depth-1); i < 0 {
			return -1
		}
		if member := paramsMember(name); member != 0 {
			m.recordParams(member, Span{uint32(at), uint32(i)})
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

// recordEnvelope notes the envelope member whose value is b[at:end].
func (m *Message) recordEnvelope(member Members, b []byte, at, end int) {
	var span *Span
	switch member {
	case MemberJSONRPC:
		if m.seen&MemberJSONRPC != 0 {
			m.Duplicates |= member
			return
		}
		m.seen |= MemberJSONRPC
		m.Version = EqualString(b[at:end], "2.0")
		return
	case MemberID:
		span = &m.ID
	case MemberMethod:
		span = &m.MethodText
	case MemberParams:
		span = &m.Params
	case MemberResult:
		span = &m.Result
	case MemberError:
		span = &m.Error
	}
	if !span.Absent() {
		m.Duplicates |= member
		return
	}
	*span = Span{uint32(at), uint32(end)}
	switch member {
	case MemberID:
		m.IDKind = idKind(b[at])
	case MemberMethod:
		m.Method = methodOf(b[at:end])
	case MemberParams:
		m.ParamsKind = kindOf(b[at])
	}
}

// recordParams notes a member of params.
func (m *Message) recordParams(member Members, value Span) {
	var span *Span
	switch member {
	case MemberChannel:
		span = &m.Channel
	case MemberServiceID:
		span = &m.ServiceID
	case MemberName:
		span = &m.Name
	case MemberPayload:
		span = &m.Payload
	case MemberTimeoutMs:
		span = &m.TimeoutMs
	case MemberTarget:
		span = &m.Target
	case MemberMetadata:
		span = &m.Metadata
	}
	if !span.Absent() {
		m.Duplicates |= member
		return
	}
	*span = value
}

func idKind(first byte) IDKind {
	switch kindOf(first) {
	case String:
		return IDString
	case Number:
		return IDNumber
	}
	return IDOther
}
