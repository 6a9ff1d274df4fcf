package codec

// Span is a half-open range of byte offsets into the line that was parsed. The zero Span means absent.
type Span struct{ Off, End uint32 }

// Of returns the bytes of s in line, nil when s is absent. The slice aliases line.
func (s Span) Of(line []byte) []byte {
	if s.End == 0 {
		return nil
	}
	return line[s.Off:s.End:s.End]
}

// Absent reports whether the member was not there.
func (s Span) Absent() bool { return s.End == 0 }

// Kind sorts a valid JSON line by its members, whatever else is wrong with it.
type Kind uint8

const (
	KindNone         Kind = iota // not an object, or an object with neither method nor id
	KindNotification             // method and no id
	KindRequest                  // method and id
	KindAnswer                   // id and no method
)

// IDKind is the JSON type of the envelope's id.
type IDKind uint8

const (
	IDAbsent IDKind = iota
	IDString
	IDNumber
	IDOther // null, true, false, object, array: never a legal request id
)

// ValueKind is the JSON type of a value, by its first byte.
type ValueKind uint8

const (
	Absent ValueKind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Method is one of the contract's method names, after unescaping.
type Method uint8

const (
	MethodNone    Method = iota // absent, or not a string
	MethodUnknown               // a string that the contract does not name
	MethodInitialize
	MethodReconnect
	MethodPing
	MethodAuthenticate
	MethodSubscribe
	MethodUnsubscribe
	MethodDispatchAction
	MethodRegisterService
	MethodUpdateService
	MethodUnregisterService
	MethodNotify
	MethodRequest
	MethodCancelRequest
)

// Members is a set of member names, one bit each.
type Members uint16

const (
	MemberJSONRPC Members = 1 << iota
	MemberID
	MemberMethod
	MemberParams
	MemberResult
	MemberError
	MemberChannel   // params.channel
	MemberServiceID // params.serviceId
	MemberName      // params.method
	MemberPayload   // params.params
	MemberTimeoutMs // params.timeoutMs
	MemberTarget    // params.id
	MemberMetadata  // params.metadata
	MemberStranger  // an envelope member that the contract does not name; never set by Parse
)

// Message says what Parse found in one line and where. Every Span is a raw JSON value without the
// white space around it: strings keep their quotes and escapes. It holds no pointer.
//
// When a member occurs twice its bit is set in Duplicates and the Span is the first occurrence's.
type Message struct {
	Kind       Kind
	IDKind     IDKind
	Method     Method    // of the envelope's method
	ParamsKind ValueKind // of the envelope's params
	Version    bool      // "jsonrpc" is present and equals "2.0"
	Duplicates Members   // envelope members, and members of params that the relay reads
	Strangers  uint8     // envelope members that the contract does not name: 0, 1, or 2 for more; two of them may be alike

	ID, MethodText, Params, Result, Error Span

	// Members of params, when params is an object.
	Channel, ServiceID, Name, Payload, TimeoutMs, Target, Metadata Span

	seen Members // all that were there
}
