package codec

// Code is a JSON-RPC error code of the wire contract.
type Code int

// The codes of the contract: JSON-RPC 2.0, AHP, LSP and this feature's own, in that order.
const (
	CodeParse              Code = -32700
	CodeInvalidRequest     Code = -32600
	CodeMethodNotFound     Code = -32601
	CodeInvalidParams      Code = -32602
	CodeInternal           Code = -32603
	CodeUnsupportedVersion Code = -32005
	CodeAuthRequired       Code = -32007
	CodeNotFound           Code = -32008
	CodePermissionDenied   Code = -32009
	CodeAlreadyExists      Code = -32010
	CodeCancelled          Code = -32800
	CodeUnavailable        Code = -32050
	CodeTimeout            Code = -32051
	CodeLimit              Code = -32052
	CodeOverloaded         Code = -32053
)

// Text returns the default English message of c.
func (c Code) Text() string {
	switch c {
	case CodeParse:
		return "parse error"
	case CodeInvalidRequest:
		return "invalid request"
	case CodeMethodNotFound:
		return "method not found"
	case CodeInvalidParams:
		return "invalid params"
	case CodeInternal:
		return "internal error"
	case CodeUnsupportedVersion:
		return "unsupported protocol version"
	case CodeAuthRequired:
		return "authentication required"
	case CodeNotFound:
		return "not found"
	case CodePermissionDenied:
		return "permission denied"
	case CodeAlreadyExists:
		return "already exists"
	case CodeCancelled:
		return "request cancelled"
	case CodeUnavailable:
		return "service unavailable"
	case CodeTimeout:
		return "request timed out"
	case CodeLimit:
		return "limit exceeded"
	case CodeOverloaded:
		return "overloaded"
	}
	return "error"
}

// RelayOnly reports whether c may be made by the relay alone: an owner that sends it has
// sent a malformed answer.
func (c Code) RelayOnly() bool { return c >= CodeOverloaded && c <= CodeUnavailable }
