package codec

import "bytes"

// envelopeNames and paramsNames give the members to try when a name is spelled with escapes.
var envelopeNames = []struct {
	name   string
	member Members
}{
	{"jsonrpc", MemberJSONRPC},
	{"id", MemberID},
	{"method", MemberMethod},
	{"params", MemberParams},
	{"result", MemberResult},
	{"error", MemberError},
}

var paramsNames = []struct {
	name   string
	member Members
}{
	{"channel", MemberChannel},
	{"serviceId", MemberServiceID},
	{"method", MemberName},
	{"params", MemberPayload},
	{"timeoutMs", MemberTimeoutMs},
	{"id", MemberTarget},
	{"metadata", MemberMetadata},
}

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

// envelopeMember returns the envelope member called name, the text between the quotes; 0 for others.
func envelopeMember(name []byte) Members {
	switch string(name) {
	case "jsonrpc":
		return MemberJSONRPC
	case "id":
		return MemberID
	case "method":
		return MemberMethod
	case "params":
		return MemberParams
	case "result":
		return MemberResult
	case "error":
		return MemberError
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		for _, n := range envelopeNames {
			if equalEscaped(name, n.name) {
				return n.member
			}
		}
	}
	return 0
}

// paramsMember returns the member of params called name, the text between the quotes; 0 for others.
func paramsMember(name []byte) Members {
	switch string(name) {
	case "channel":
		return MemberChannel
	case "serviceId":
		return MemberServiceID
	case "method":
		return MemberName
	case "params":
		return MemberPayload
	case "timeoutMs":
		return MemberTimeoutMs
	case "id":
		return MemberTarget
	case "metadata":
		return MemberMetadata
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		for _, n := range paramsNames {
			if equalEscaped(name, n.name) {
				return n.member
			}
		}
	}
	return 0
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
