package codec

// ErrorObject is what the relay reads of the error member of an owner's answer.
type ErrorObject struct {
	Code      int64 // 0 when it does not fit
	CodeOK    bool  // code is there and an integer
	MessageOK bool  // message is there and a string
	Duplicate bool  // code, message or data occurs twice
}

// OK reports whether the error may be passed on as far as its shape is concerned.
func (e ErrorObject) OK() bool { return e.CodeOK && e.MessageOK && !e.Duplicate }

// ParseError judges a raw error member. Of a value that is no object nothing is OK; of members that
// occur twice the first counts.
func ParseError(raw []byte) (e ErrorObject) {
	var code, message, data bool
	members := ObjectMembers(raw)
	for {
		name, value, ok := members.Next()
		if !ok {
			return e
		}
		switch {
		case EqualString(name, "code"):
			if code {
				e.Duplicate = true
				continue
			}
			code = true
			e.Code, e.CodeOK = Integer(value)
			if !e.CodeOK {
				_, e.CodeOK = IsInteger(value) // of any size; Code is 0 then
			}
		case EqualString(name, "message"):
			if message {
				e.Duplicate = true
				continue
			}
			message, e.MessageOK = true, KindOf(value) == String
		case EqualString(name, "data"):
			e.Duplicate = e.Duplicate || data
			data = true
		}
	}
}
