//go:build !amd64

package table

func prefetch(*Service) {}
