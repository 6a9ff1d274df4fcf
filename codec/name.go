package codec

import "encoding/binary"

var methodNames = []struct {
	name   string
	method Method
}{
	{"initialize", MethodInitialize},
	{"reconnect", MethodReconnect},
	{"ping", MethodPing},
	{"authenticate", MethodAuthenticate},
	{"subscribe", MethodSubscribe},
	{"unsubscribe", MethodUnsubscribe},
	{"dispatchAction", MethodDispatchAction},
	{"client/registerService", MethodRegisterService},
	{"client/updateService", MethodUpdateService},
	{"client/unregisterService", MethodUnregisterService},
	{"clientService/notify", MethodNotify},
	{"clientService/request", MethodRequest},
	{"$/cancelRequest", MethodCancelRequest},
}

// names gives the member names of the contract, for those that are spelled with escapes.
var names = [...]struct {
	text             string
	envelope, params Members // what the name means there, 0 for nothing
}{
	{"jsonrpc", MemberJSONRPC, 0},
	{"id", MemberID, MemberTarget},
	{"method", MemberMethod, MemberName},
	{"params", MemberParams, MemberPayload},
	{"result", MemberResult, 0},
	{"error", MemberError, 0},
	{"channel", 0, MemberChannel},
	{"serviceId", 0, MemberServiceID},
	{"timeoutMs", 0, MemberTimeoutMs},
	{"metadata", 0, MemberMetadata},
}

// The first eight bytes of each name, closing quote included, as a little-endian word.
const (
	wordJSONRPC  = 'j' | 's'<<8 | 'o'<<16 | 'n'<<24 | 'r'<<32 | 'p'<<40 | 'c'<<48 | '"'<<56
	wordID       = 'i' | 'd'<<8 | '"'<<16
	wordMethod   = 'm' | 'e'<<8 | 't'<<16 | 'h'<<24 | 'o'<<32 | 'd'<<40 | '"'<<48
	wordParams   = 'p' | 'a'<<8 | 'r'<<16 | 'a'<<24 | 'm'<<32 | 's'<<40 | '"'<<48
	wordResult   = 'r' | 'e'<<8 | 's'<<16 | 'u'<<24 | 'l'<<32 | 't'<<40 | '"'<<48
	wordError    = 'e' | 'r'<<8 | 'r'<<16 | 'o'<<24 | 'r'<<32 | '"'<<40
	wordChannel  = 'c' | 'h'<<8 | 'a'<<16 | 'n'<<24 | 'n'<<32 | 'e'<<40 | 'l'<<48 | '"'<<56
	wordService  = 's' | 'e'<<8 | 'r'<<16 | 'v'<<24 | 'i'<<32 | 'c'<<40 | 'e'<<48 | 'I'<<56
	wordTimeout  = 't' | 'i'<<8 | 'm'<<16 | 'e'<<24 | 'o'<<32 | 'u'<<40 | 't'<<48 | 'M'<<56
	wordMetadata = 'm' | 'e'<<8 | 't'<<16 | 'a'<<24 | 'd'<<32 | 'a'<<40 | 't'<<48 | 'a'<<56
)

// quickName recognizes a name of the contract in its plain spelling from b[i], the byte behind the
// opening quote. It returns what the name means in the envelope and in params and its length with the
// closing quote; 0 when somebody else must look.
func quickName(b []byte, i int) (envelope, params Members, size int) {
	if i+10 > len(b) {
		return 0, 0, 0
	}
	word := binary.LittleEndian.Uint64(b[i:])
	if hit := special(word); hit != 0 {
		switch word & (hit ^ (hit - 1)) { // up to and with the special byte
		case wordJSONRPC:
			return MemberJSONRPC, 0, 8
		case wordID:
			return MemberID, MemberTarget, 3
		case wordMethod:
			return MemberMethod, MemberName, 7
		case wordParams:
			return MemberParams, MemberPayload, 7
		case wordResult:
			return MemberResult, 0, 7
		case wordError:
			return MemberError, 0, 6
		case wordChannel:
			return 0, MemberChannel, 8
		}
		return 0, 0, 0
	}
	switch {
	case word == wordService && b[i+8] == 'd' && b[i+9] == '"':
		return 0, MemberServiceID, 10
	case word == wordTimeout && b[i+8] == 's' && b[i+9] == '"':
		return 0, MemberTimeoutMs, 10
	case word == wordMetadata && b[i+8] == '"':
		return 0, MemberMetadata, 9
	}
	return 0, 0, 0
}

// slowName does quickName's work for a whole name, the text between the quotes.
func slowName(name []byte) (envelope, params Members) {
	for i := range names {
		n := &names[i]
		if string(name) == n.text || equalEscaped(name, n.text) {
			return n.envelope, n.params
		}
	}
	return 0, 0
}

// scanMember scans a member name and its colon from b[i] on. It returns what the name means in the
// envelope and in params, and the index at which the value must start, -1 when invalid.
func scanMember(b []byte, i int) (envelope, params Members, next int) {
	if i >= len(b) || b[i] != '"' {
		return 0, 0, -1
	}
	envelope, params, size := quickName(b, i+1)
	end := i + 1 + size
	if size == 0 {
		if end = skipString(b, i+1); end < 0 {
			return 0, 0, -1
		}
		envelope, params = slowName(b[i+1 : end-1])
	}
	if end+1 < len(b) && b[end] == ':' && b[end+1] > ' ' {
		return envelope, params, end + 1
	}
	if end = skipSpace(b, end); end >= len(b) || b[end] != ':' {
		return 0, 0, -1
	}
	return envelope, params, skipSpace(b, end+1)
}

// methodOf returns the method that the raw JSON value names.
func methodOf(raw []byte) Method {
	if raw[0] != '"' {
		return MethodNone
	}
	text := raw[1 : len(raw)-1]
	switch string(text) {
	case "clientService/notify":
		return MethodNotify
	case "clientService/request":
		return MethodRequest
	case "$/cancelRequest":
		return MethodCancelRequest
	}
	for _, n := range methodNames {
		if EqualString(raw, n.name) {
			return n.method
		}
	}
	return MethodUnknown
}
