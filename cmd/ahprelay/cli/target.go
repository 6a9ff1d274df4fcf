package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/codec"
)

// targetHelp explains SERVICE.
const targetHelp = "SERVICE is a service id, or key=value over a top-level member of the metadata, and then must match\nexactly one service."

// resolve finds the one service that text means.
func resolve(ctx context.Context, cl *client.Client, text string) (string, error) {
	found, err := cl.FindAll(ctx, text)
	if err != nil {
		return "", fmt.Errorf("looking for the service %s: %w", text, err)
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no service matches %s", text)
	case 1:
		return found[0].ID, nil
	}
	var ids []string
	for _, s := range found[:min(len(found), 8)] {
		ids = append(ids, s.ID)
	}
	if len(found) > len(ids) {
		ids = append(ids, "…")
	}
	return "", fmt.Errorf("%d services match %s, use an id: %s", len(found), text, strings.Join(ids, " "))
}

// checkTarget refuses what can be no SERVICE, before anything is dialed.
func checkTarget(text string) error {
	if _, err := client.NewMatcher(text); err != nil {
		return usage("SERVICE %q: want a service id or key=value", text)
	}
	return nil
}

// paramsDepthMax is more than any relay lets through.
const paramsDepthMax = 1 << 16

// checkJSON refuses text that is no single JSON value; what names it.
func checkJSON(text []byte, what string) (json.RawMessage, error) {
	var m codec.Message
	if !codec.Parse(text, paramsDepthMax, &m) {
		return nil, fmt.Errorf("%s: no JSON value", what)
	}
	return text, nil
}
