package reader

import (
	"context"

	"github.com/ahprelay/ahprelay/client"
)

// WatchParams are the params of watchRefs and unwatchRefs.
type WatchParams struct {
	Repo      string `json:"repo"`
	ServiceID string `json:"serviceId"`
}

// RefsChanged are the params of the notification refsChanged.
type RefsChanged struct {
	Repo string `json:"repo"`
}

func (r *Reader) watchRefs(ctx context.Context, sender string, params []byte) (any, error) {
	sub, failed := r.subscription(params)
	if failed != nil {
		return nil, failed
	}
	if failed := r.watchers.add(sub, sender); failed != nil {
		return nil, failed
	}
	if err := r.watchers.looker[sub.repo].prime(ctx); err != nil {
		r.watchers.remove(sub, sender)
		return nil, r.gitFailed(ctx, sub.repo, err)
	}
	return struct{}{}, nil
}

func (r *Reader) unwatchRefs(sender string, params []byte) (any, error) {
	sub, failed := r.subscription(params)
	if failed != nil {
		return nil, failed
	}
	if failed := r.watchers.remove(sub, sender); failed != nil {
		return nil, failed
	}
	return struct{}{}, nil
}

// subscription decodes WatchParams.
func (r *Reader) subscription(params []byte) (subscription, *client.Error) {
	var name, id []byte
	if err := members(params, "params", map[string]*[]byte{"repo": &name, "serviceId": &id}); err != nil {
		return subscription{}, err
	}
	from, err := r.find(name)
	if err != nil {
		return subscription{}, err
	}
	serviceID, err := text(id, "serviceId")
	return subscription{from.Name(), serviceID}, err
}
