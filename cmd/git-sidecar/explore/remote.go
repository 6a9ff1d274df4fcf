// Package explore is the other side of the service "git-object-reader": it reads refs, trees and files of a
// repository that some git-sidecar serves, knowing Git's object formats itself.
//
// It does not trust the service: every object is hashed and compared with its name before anything is made
// of it, and sizes are bounded. Objects never change, so they are kept for the life of the Remote; what it
// returns is shared with that cache and must not be written to.
//
// A Remote belongs to one goroutine.
package explore

import (
	"context"
	"fmt"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
)

const (
	batchMax     = 500      // objects in one request
	oidRoom      = 512      // bytes of a frame that each needs at most, in request and answer, without its data
	wholeMax     = 16 << 20 // a longer object is only ever copied piece by piece
	fetchMax     = 64 << 20 // bytes of one batch
	cacheMax     = 64 << 20 // bytes of objects kept
	refPagesMax  = 100_000
	frameDefault = 1 << 20
)

// Caller sends a request to a service and decodes the result; *client.Client is one.
type Caller interface {
	Call(ctx context.Context, serviceID, method string, params, result any) error
}

// Stats counts what a Remote has cost.
type Stats struct {
	Requests  int   `json:"requests"`  // sent to the service
	CacheHits int   `json:"cacheHits"` // objects that were asked for and already there
	Objects   int   `json:"objects"`   // received and verified
	Bytes     int64 `json:"bytes"`     // of those objects
}

// Remote is a repository behind a service.
type Remote struct {
	caller  Caller
	service string
	repo    string
	batch   int
	whole   int64 // longer objects are only copied

	cache  map[string]*Object
	cached int // bytes
	stats  Stats
}

// New returns the repository repo of the service. frameBytes is what the relay announces, 0 if unknown.
func New(caller Caller, serviceID, repo string, frameBytes int) *Remote {
	if frameBytes <= 0 {
		frameBytes = frameDefault
	}
	batch := max(1, min(batchMax, (frameBytes-oidRoom)/oidRoom))
	return &Remote{caller: caller, service: serviceID, repo: repo, batch: batch, whole: wholeMax, cache: make(map[string]*Object)}
}

// Stats returns the counters so far.
func (r *Remote) Stats() Stats { return r.stats }

// Refs returns HEAD and all refs whose names begin with prefix, ascending.
func (r *Remote) Refs(ctx context.Context, prefix string) ([]reader.Ref, reader.Head, error) {
	var refs []reader.Ref
	after := ""
	for range refPagesMax {
		page, err := r.refsPage(ctx, prefix, after)
		if err != nil {
			return nil, reader.Head{}, err
		}
		refs = append(refs, page.Refs...)
		if page.Next == "" {
			return refs, page.Head, nil
		}
		if page.Next <= after {
			return nil, reader.Head{}, fmt.Errorf("the service sent a page of refs that leads nowhere")
		}
		after = page.Next
	}
	return nil, reader.Head{}, fmt.Errorf("the service sent more than %d pages of refs", refPagesMax)
}

// refsPage asks for one page.
func (r *Remote) refsPage(ctx context.Context, prefix, after string) (page reader.RefsAnswer, err error) {
	r.stats.Requests++
	err = r.caller.Call(ctx, r.service, "getRefs", reader.RefsParams{Repo: r.repo, Prefix: prefix, After: after}, &page)
	if err != nil {
		return page, fmt.Errorf("reading refs: %w", err)
	}
	for _, ref := range page.Refs {
		if !isOID(ref.OID) || ref.Peeled != "" && !isOID(ref.Peeled) {
			return page, fmt.Errorf("the service sent the ref %q with a malformed object id", ref.Name)
		}
	}
	if page.Head.OID != "" && !isOID(page.Head.OID) {
		return page, fmt.Errorf("the service sent HEAD with a malformed object id")
	}
	return page, nil
}
