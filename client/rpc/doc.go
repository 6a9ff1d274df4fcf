// Package rpc offers ordinary Go objects as a client service and lets other programs call them through
// typed proxies.
//
// What callers may do with an object is its contract: a Go interface that embeds Remote. The host binds
// contracts to its own types with an Adapter and exposes a root object; a caller makes a Conn and uses
// proxies, which implement the same interfaces and are generated from them by the program in gen/rpcgen.
// Neither the objects nor their types know anything of it: contexts are rebuilt at the host, references,
// trace carriers and frames stay in this package.
//
// A contract's methods have one of three forms:
//
//	Rename(ctx context.Context, title string) error                        // a call; its result is JSON,
//	Lane(ctx context.Context, name string) (Lane, error)                   // or a reference to an object
//	Watch(ctx context.Context, f Filter) (*rpc.Subscription[S, E], error)  // a subscription
//	View(lane string) Tree                                                 // a selector: sends nothing
//
// On the wire a member has its Go name in lower camel case: CreateLane is createLane, IDGenerator is
// idGenerator. An interface has its Go name. Trailing parameters that are pointers, and variadic ones, are
// optional: nil ones at the end are not sent.
//
// The host owns one goroutine that follows the catalogue and, while there is something to send, one for
// each subscription; a Conn owns one while it has a session. Close of either ends them and everything
// that was granted or subscribed. All slices handed to the application are its own.
package rpc
