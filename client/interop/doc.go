// Package interop holds clients of the relay that share no code with package client: one in plain
// Node.js (net, tls and the ws package) and one in plain Python (the standard library). Its test runs
// them against the real relay, each with itself, with the other and with the Go client, over every
// listener that they speak, so that a mistake on the wire cannot hide behind both ends making it.
// stock.mjs is a client of AHP that knows nothing of client services.
package interop
