package rpc

import (
	"context"
	"errors"
	"strings"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// Error is a refusal of the RPC layer, at either end. What an object itself returns is no Error but a
// *client.Error with the code and the text that the host sent.
type Error struct {
	Reason  string // one of the words below
	Path    string // of ErrValue: which value, such as args[1].items[3]
	Message string
	cause   error // the *client.Error that it came in, nil for an error of this end
}

// The words that an Error travels under.
const (
	reasonEnvelope = "envelope"
	reasonTarget   = "target"
	reasonMember   = "member"
	reasonValue    = "value"
	reasonSession  = "session"
	reasonLimit    = "limit"
	reasonOverflow = "overflow"
	reasonGap      = "gap"
	reasonEnded    = "ended"
	reasonDeadline = "deadline"
)

// Errors to compare with by errors.Is.
var (
	ErrEnvelope = &Error{Reason: reasonEnvelope} // a message is not of the RPC protocol
	ErrTarget   = &Error{Reason: reasonTarget}   // there is no such object, or it is not this session's
	ErrMember   = &Error{Reason: reasonMember}   // the contract has no such member
	ErrValue    = &Error{Reason: reasonValue}    // a value is no JSON, or not what the contract says
	ErrSession  = &Error{Reason: reasonSession}  // no session is open, or it may not be opened
	ErrLimit    = &Error{Reason: reasonLimit}    // too many references or subscriptions
	ErrOverflow = &Error{Reason: reasonOverflow} // the subscriber was too slow, and the subscription ended
	ErrGap      = &Error{Reason: reasonGap}      // an event was lost on the way, and the subscription ended
	ErrEnded    = &Error{Reason: reasonEnded}    // the host ended the subscription
)

var errorCodes = map[string]codec.Code{
	reasonEnvelope: codec.CodeInvalidParams,
	reasonTarget:   codec.CodeNotFound,
	reasonMember:   codec.CodeMethodNotFound,
	reasonValue:    codec.CodeInvalidParams,
	reasonSession:  codec.CodeInvalidRequest,
	reasonLimit:    client.CodeServiceError,
	reasonOverflow: client.CodeServiceError,
	reasonGap:      client.CodeServiceError,
	reasonEnded:    client.CodeServiceError,
	reasonDeadline: client.CodeServiceError,
}

// Error returns what is wrong, and where.
func (e *Error) Error() string { return "rpc: " + e.text() }

func (e *Error) text() string {
	text := e.Message
	if text == "" {
		text = e.Reason
	}
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	return text
}

// Is reports whether target is the Err… variable of e's reason, or context.DeadlineExceeded if the call's
// time was over at the host first.
func (e *Error) Is(target error) bool {
	if target == context.DeadlineExceeded {
		return e.Reason == reasonDeadline
	}
	t, ok := target.(*Error)
	return ok && t.Reason == e.Reason && t.Message == "" && t.Path == ""
}

// Unwrap returns the *client.Error in which the other end sent e, nil if e is of this end.
func (e *Error) Unwrap() error { return e.cause }

// refusal is the protocol envelope in an error's data.
type refusal struct {
	RPC struct {
		Error string `json:"error"`
		Path  string `json:"path,omitempty"`
	} `json:"$rpc"`
}

// outward returns what a handler returns for err: refusals of this layer with their envelope, and others
// without anything that could be mistaken for one.
func outward(err error) error {
	var e *Error
	if errors.As(err, &e) && e.cause == nil {
		var r refusal
		r.RPC.Error, r.RPC.Path = e.Reason, e.Path
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		code, known := errorCodes[e.Reason]
		if !known || e.Reason == reasonValue && e.Path != "" && e.ours() {
			code = codec.CodeInternal
		}
		return &client.Error{Code: code, Message: e.text(), Data: data}
	}
	var c *client.Error
	if errors.As(err, &c) && len(c.Data) > 0 && reserved(c.Data, &path{name: "data"}) != nil {
		return &client.Error{Code: c.Code, Message: c.Message}
	}
	return err
}

// ours reports whether it is the host's own value that is wrong, and not one of the caller's.
func (e *Error) ours() bool {
	return strings.HasPrefix(e.Path, rootResult) || strings.HasPrefix(e.Path, rootSnapshot)
}

// inward turns the envelope in the data of err, if there is one, back into an *Error.
func inward(err error) error {
	var c *client.Error
	if !errors.As(err, &c) || codec.KindOf(c.Data) != codec.Object {
		return err
	}
	var r refusal
	if json.Unmarshal(c.Data, &r) != nil || r.RPC.Error == "" {
		return err
	}
	message := strings.TrimPrefix(c.Message, r.RPC.Path+": ")
	return &Error{Reason: r.RPC.Error, Path: r.RPC.Path, Message: message, cause: err}
}
