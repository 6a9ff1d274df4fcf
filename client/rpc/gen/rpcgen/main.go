// Command rpcgen writes the proxies of contracts. It is meant for go generate:
//
//	//go:generate go run github.com/ahprelay/ahprelay/client/rpc/gen/rpcgen Root Object …
//
// The arguments are the interfaces of the package in the current folder, the root first. The file is
// proxy.go unless -o names another.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/ahprelay/ahprelay/client/rpc/gen"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "proxy.go", "the file to write")
	flag.Parse()
	text, err := gen.Generate(".", flag.Args()...)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, text, 0o666); err != nil {
		log.Fatal(err)
	}
}
