package relay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A configuration that makes no sense is refused, at the start and in a reload, with the reason.
func TestConfigurationsAreRefused(t *testing.T) {
	uid, negative := 1, -1
	sum := hash("x")
	w := newWorld(t, testConfig())
	for want, change := range map[string]func(*Config){
		"limits: depth_max is 1, must be between 2 and 65536":                       func(c *Config) { c.Limits.DepthMax = 1 },
		"limits: request_timeout is 0s, must be positive and at most 24h":           func(c *Config) { c.Limits.RequestTimeout = 0 },
		"limits: idle_timeout is 25h0m0s, must be positive and at most 24h":         func(c *Config) { c.Limits.IdleTimeout = 25 * time.Hour },
		"limits: queue_bytes_soft 67108865 exceeds queue_bytes_hard 67108864":       func(c *Config) { c.Limits.QueueBytesSoft = 64<<20 + 1 },
		`principal "": name must have 1 to 128 bytes`:                               func(c *Config) { c.Principals = []Principal{{UID: &uid}} },
		`principal "a/b": name must not contain a slash`:                            func(c *Config) { c.Principals = []Principal{{Name: "a/b", UID: &uid}} },
		`principal "anonymous": it is who has no credential`:                        func(c *Config) { c.Principals = []Principal{{Name: "anonymous", UID: &uid}} },
		`principal "a": exactly one of token_sha256, uid and client_cert is needed`: func(c *Config) { c.Principals = []Principal{{Name: "a", UID: &uid, ClientCert: "x"}} },
		`principal "a": token_sha256 must be 64 hexadecimal digits`:                 func(c *Config) { c.Principals = []Principal{{Name: "a", TokenSHA256: sum[1:]}} },
		`principal "b": another principal has the same token_sha256`: func(c *Config) {
			c.Principals = []Principal{{Name: "a", TokenSHA256: sum}, {Name: "b", TokenSHA256: strings.ToUpper(sum)}}
		},
		`principal "a": uid must not be negative`:           func(c *Config) { c.Principals = []Principal{{Name: "a", UID: &negative}} },
		`principal "b": another principal has the same uid`: func(c *Config) { c.Principals = []Principal{{Name: "a", UID: &uid}, {Name: "b", UID: &uid}} },
		`principal "b": another principal has the same client_cert`: func(c *Config) {
			c.Principals = []Principal{{Name: "a", ClientCert: "x"}, {Name: "b", ClientCert: "x"}}
		},
		`principal "a": quotas must not be negative`:                                             func(c *Config) { c.Principals = []Principal{{Name: "a", UID: &uid, Inflight: -1}} },
		"principal \"a\": configured twice\nprincipal \"a\": another principal has the same uid": func(c *Config) { c.Principals = []Principal{{Name: "a", UID: &uid}, {Name: "a", UID: &uid}} },
		"more than 4096 principals": func(c *Config) {
			for i := range 4097 {
				c.Principals = append(c.Principals, Principal{Name: fmt.Sprint(i), UID: &i})
			}
		},
	} {
		config := testConfig()
		change(&config)
		if _, err := New(config, testBoot, [32]byte{}); err == nil || err.Error() != want {
			t.Errorf("New: %v, want %s", err, want)
		}
		if err := w.core.Reload(w.now, config); err == nil || err.Error() != want {
			t.Errorf("Reload: %v, want %s", err, want)
		}
	}
	if got := w.core.Counters().Reloads; got != 0 || !reflect.DeepEqual(w.core.config, testConfig()) {
		t.Errorf("%d reloads, now %+v", got, w.core.config)
	}
	w.finish()
}

// Protocols are chosen by clients: what is remembered of their rights stays small.
func TestRightsRowsAreBounded(t *testing.T) {
	config := testConfig()
	uid := 1
	config.Principals = []Principal{{Name: "p", UID: &uid, ClientIDs: []string{"*"}, Register: []string{"*"}, Discover: []string{"a*"}}}
	w := newWorld(t, config)
	p := w.core.policy
	for i := range 3 * rowsMax {
		protocol := fmt.Sprintf("%d", i)
		if i%2 == 0 {
			protocol = "a" + protocol
		}
		if row := p.row(0, protocol, true); (row[0] == rightDiscover) != (i%2 == 0) || len(p.rows) > rowsMax {
			t.Fatalf("%s: %v, %d rows", protocol, row, len(p.rows))
		}
	}
	long := strings.Repeat("a", rowKeyMax+1)
	row := p.row(0, long, true)
	if _, kept := p.rows[rowKey{0, long, true}]; row[0] != rightDiscover || kept {
		t.Errorf("%v, kept: %v", row, kept)
	}
	w.finish()
}
