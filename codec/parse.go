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
	if i != len(line) && (i < 0 || skipSpace(line, i) != len(line)) || !validText(line) {
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
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if next := m.usualEnvelope(b, i); next != i {
			i = skipSpace(b, next)
		}
		member, _, at := scanMember(b, i)
		if at < 0 || at >= len(b) {
			return -1
		}
		switch {
		case b[at] == '"':
			i = skipString(b, at+1)
		case member == MemberParams && b[at] == '{' && m.Params.Absent():
			i = parseParams(b, at, depth-1, m)
		default:
			i = skipValue(b, at, depth-1)
		}
		if i < 0 {
			return -1
		}
		if member != 0 {
			m.recordEnvelope(member, b, at, i)
		} else if m.Strangers < 2 {
			m.Strangers++
		}
		var more bool
		if i, more = nextMember(b, i); !more {
			return i
		}
	}
}

// parseParams scans the params object that opens at b[i] and returns the index behind it, -1 when
// invalid.
func parseParams(b []byte, i, depth int, m *Message) int {
	if depth < 1 {
		return -1
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	if next := m.usualParams(b, i); next != i {
		i = skipSpace(b, next)
	}
	for {
		_, member, at := scanMember(b, i)
		if at < 0 || at >= len(b) {
			return -1
		}
		if b[at] == '"' {
			i = skipString(b, at+1)
		} else {
			i = skipValue(b, at, depth-1)
		}
		if i < 0 {
			return -1
		}
		if member != 0 {
			m.recordParams(member, Span{uint32(at), uint32(i)})
		}
		var more bool
		if i, more = nextMember(b, i); !more {
			return i
		}
	}
}

// nextMember looks at what follows a member of an object at b[i]. With a comma it returns the index of
// the next name and true, else the index behind the closing bracket or -1.
func nextMember(b []byte, i int) (next int, more bool) {
	if i < len(b) && b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	if i >= len(b) {
		return -1, false
	}
	switch b[i] {
	case ',':
		if i++; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		return i, true
	case '}':
		return i + 1, false
	}
	return -1, false
}

// recordEnvelope notes the envelope member whose value is b[at:end].
func (m *Message) recordEnvelope(member Members, b []byte, at, end int) {
	if m.seen&member != 0 {
		m.Duplicates |= member
		return
	}
	m.seen |= member
	value := Span{uint32(at), uint32(end)}
	switch member {
	case MemberJSONRPC:
		m.Version = EqualString(b[at:end], "2.0")
	case MemberID:
		m.ID = value
		m.IDKind = idKind(b[at])
	case MemberMethod:
		m.MethodText = value
		m.Method = methodOf(b[at:end])
	case MemberParams:
		m.Params = value
		m.ParamsKind = kindOf(b[at])
	case MemberResult:
		m.Result = value
	case MemberError:
		m.Error = value
	}
}

// recordParams notes a member of params.
func (m *Message) recordParams(member Members, value Span) {
	if m.seen&member != 0 {
		m.Duplicates |= member
		return
	}
	m.seen |= member
	switch member {
	case MemberChannel:
		m.Channel = value
	case MemberServiceID:
		m.ServiceID = value
	case MemberName:
		m.Name = value
	case MemberPayload:
		m.Payload = value
	case MemberTimeoutMs:
		m.TimeoutMs = value
	case MemberTarget:
		m.Target = value
	case MemberMetadata:
		m.Metadata = value
	}
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
