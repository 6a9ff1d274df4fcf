package table

// prefetch asks the processor to fetch the cache line of a service, without waiting for it.
//
//go:noescape
func prefetch(s *Service)
