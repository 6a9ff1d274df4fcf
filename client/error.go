package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// Error is an error answer: one the relay made, one a service gave, or one a handler returns.
// errors.Is compares its code with the Err… variables below; a timeout is also
// context.DeadlineExceeded, a cancellation also context.Canceled.
type Error struct {
	Code    codec.Code
	Message string
	Data    json.RawMessage // nil when the error has none
}

// Errors to compare with by errors.Is; each stands for one code of the wire contract.
var (
	ErrParse              = &Error{Code: codec.CodeParse}
	ErrInvalidRequest     = &Error{Code: codec.CodeInvalidRequest}
	ErrMethodNotFound     = &Error{Code: codec.CodeMethodNotFound}
	ErrInvalidParams      = &Error{Code: codec.CodeInvalidParams}
	ErrInternal           = &Error{Code: codec.CodeInternal}
	ErrUnsupportedVersion = &Error{Code: codec.CodeUnsupportedVersion}
	ErrAuthRequired       = &Error{Code: codec.CodeAuthRequired}
	ErrNotFound           = &Error{Code: codec.CodeNotFound}
	ErrPermissionDenied   = &Error{Code: codec.CodePermissionDenied}
	ErrAlreadyExists      = &Error{Code: codec.CodeAlreadyExists}
	ErrCancelled          = &Error{Code: codec.CodeCancelled}
	ErrUnavailable        = &Error{Code: codec.CodeUnavailable}
	ErrTimeout            = &Error{Code: codec.CodeTimeout}
	ErrLimitExceeded      = &Error{Code: codec.CodeLimit}
	ErrOverloaded         = &Error{Code: codec.CodeOverloaded}
)

var (
	// ErrNotSupported: the server speaks AHP but has no client services.
	ErrNotSupported = errors.New("client: the server does not support client services")
	// ErrDisconnected: there is no connection, or it was lost before the answer. Delivered tells which.
	ErrDisconnected = errors.New("client: disconnected from the relay")
	// ErrClosed: the client has been closed.
	ErrClosed = errors.New("client: closed")
	// ErrProtocol: the relay sent something that the protocol does not allow.
	ErrProtocol = errors.New("client: protocol violation by the relay")
)

// CodeServiceError is the code of a handler's error that is no *Error.
const CodeServiceError codec.Code = -32000

// Error returns the message with its code.
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" {
		msg = e.Code.Text()
	}
	return fmt.Sprintf("%s (%d)", msg, int(e.Code))
}

// Is reports whether target is an *Error of the same code, or the context error that e amounts to.
func (e *Error) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return e.Code == codec.CodeTimeout
	case context.Canceled:
		return e.Code == codec.CodeCancelled
	}
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == "" && t.Data == nil
}

// Delivered says whether the service can have seen the request: "never", "maybe", or "" when the error
// does not tell (an error that the service itself gave).
func (e *Error) Delivered() string {
	if len(e.Data) == 0 || e.Data[0] != '{' {
		return ""
	}
	var d struct {
		Delivered string `json:"delivered"`
	}
	if json.Unmarshal(e.Data, &d) != nil || d.Delivered != "never" && d.Delivered != "maybe" {
		return ""
	}
	return d.Delivered
}

// Delivered returns what err's chain knows of the delivery of the request: "never", "maybe" or "".
func Delivered(err error) string {
	var d interface{ Delivered() string }
	if errors.As(err, &d) {
		return d.Delivered()
	}
	return ""
}

// DisconnectedError says why a connection ended and what that means for a request. It is
// ErrDisconnected, and whatever its cause is.
type DisconnectedError struct {
	Cause     error
	delivered string
}

// Error returns the cause.
func (e *DisconnectedError) Error() string {
	if e.Cause == nil {
		return ErrDisconnected.Error()
	}
	return ErrDisconnected.Error() + ": " + e.Cause.Error()
}

// Is reports whether target is ErrDisconnected.
func (e *DisconnectedError) Is(target error) bool { return target == ErrDisconnected }

// Unwrap returns the cause.
func (e *DisconnectedError) Unwrap() error { return e.Cause }

// Delivered returns "never" for what was not sent and "maybe" for what may have been.
func (e *DisconnectedError) Delivered() string { return e.delivered }

// protocolError makes an error that is ErrProtocol.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}
