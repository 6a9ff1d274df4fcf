package client

import "github.com/goccy/go-json"

// Limits is what the relay announces in clientServices.limits: every bound that a client can run into.
// Zero means that the relay did not say.
type Limits struct {
	FrameBytes                 int `json:"frameBytes"`     // longest line that the relay takes
	DeliveredBytes             int `json:"deliveredBytes"` // longest line that it sends, a snapshot aside
	SnapshotBytes              int `json:"snapshotBytes"`  // longest line with a whole catalogue
	Depth                      int `json:"depth"`          // nesting levels of a line
	IDBytes                    int `json:"idBytes"`        // a request id as spelled
	ClientIDBytes              int `json:"clientIdBytes"`  // decoded text
	MethodBytes                int `json:"methodBytes"`    // decoded text of an application's method
	MetadataBytes              int `json:"metadataBytes"`  // a service's metadata
	MetadataDepth              int `json:"metadataDepth"`  // its nesting levels
	Services                   int `json:"services"`       // of all clients
	ServicesPerConnection      int `json:"servicesPerConnection"`
	CatalogBytes               int `json:"catalogBytes"` // all services, encoded
	SubscriptionsPerConnection int `json:"subscriptionsPerConnection"`
	CatalogChangesPerSecond    int `json:"catalogChangesPerSecond"` // registrations, updates and unregistrations
	InflightPerConnection      int `json:"inflightPerConnection"`   // requests of this client
	InflightPerService         int `json:"inflightPerService"`      // requests to one service
	RequestTimeoutMs           int `json:"requestTimeoutMs"`        // of a request without a deadline
	RequestTimeoutMaxMs        int `json:"requestTimeoutMaxMs"`     // longest that a deadline may be away
	QueueBytesSoft             int `json:"queueSoftBytes"`          // unsent output at which the relay refuses requests to a client

	// All is the object as sent, with limits that this version of the package does not know.
	All json.RawMessage `json:"-"`
}

// ServerInfo is what the relay says of itself.
type ServerInfo struct {
	Name             string `json:"name"`
	Version          string `json:"version"`
	Title            string `json:"title"`
	ProtocolVersion  string `json:"-"` // the AHP version agreed on
	DefaultDirectory string `json:"-"` // a file: URI, or ""
}
