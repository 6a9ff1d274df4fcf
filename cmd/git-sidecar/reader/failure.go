package reader

import (
	"context"
	"errors"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// The codes of the table in the package comment.
const (
	codeInvalidParams    = codec.CodeInvalidParams
	codeMethodNotFound   = codec.CodeMethodNotFound
	codeNotFound         = codec.CodeNotFound
	codePermissionDenied = codec.CodePermissionDenied
	codeInternal         = codec.CodeInternal
	codeCancelled        = codec.CodeCancelled

	// CodeWatchersFull is this service's own: too many subscriptions.
	CodeWatchersFull codec.Code = -32020
)

// data is the data of an error; what is empty is left out.
type data struct {
	Member    string   `json:"member,omitempty"`
	Problem   string   `json:"problem,omitempty"`
	Method    string   `json:"method,omitempty"`
	Methods   []string `json:"methods,omitempty"`
	Repo      string   `json:"repo,omitempty"`
	Repos     []string `json:"repos,omitempty"`
	ServiceID string   `json:"serviceId,omitempty"`
	Limit     string   `json:"limit,omitempty"`
	Max       int      `json:"max,omitempty"`
}

// failure returns an error answer.
func failure(code codec.Code, message string, d data) *client.Error {
	text, err := json.MarshalWithOption(d, json.DisableHTMLEscape())
	if err != nil {
		panic("error data does not marshal: " + err.Error())
	}
	return &client.Error{Code: code, Message: message, Data: text}
}

// invalid returns the error for a malformed member of params.
func invalid(member, problem string) *client.Error {
	return failure(codeInvalidParams, "invalid params: "+member+" "+problem, data{Member: member, Problem: problem})
}

// gitFailed returns the answer to a request whose reading failed. What git said may name paths of this
// machine and goes to the log alone.
func (r *Reader) gitFailed(ctx context.Context, name string, err error) *client.Error {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return failure(codeCancelled, codeCancelled.Text(), data{Repo: name})
	}
	r.cfg.Log.Error("git failed", "repo", name, "error", err)
	return failure(codeInternal, "reading the repository failed", data{Repo: name})
}
