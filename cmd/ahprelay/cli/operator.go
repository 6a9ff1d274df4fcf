package cli

import (
	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/admin"
	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
)

// operator is the flags of the commands that ask the admin server.
type operator struct {
	p         *Program
	admin     string
	tokenFile string
}

const operatorHelp = "It asks the relay's admin server and needs its token, which is found by itself when a relay of the same user made\n" +
	"it; otherwise --admin-token-file names the file that the relay logged as token_file, or one with the token whose\n" +
	"SHA-256 is admin_token_sha256. A Unix socket needs none."

// operate adds the flags to cmd.
func (p *Program) operate(cmd *cobra.Command) *operator {
	o := &operator{p: p}
	standard := config.Default().Admin
	cmd.Flags().StringVar(&o.admin, "admin", p.getenv("AHPRELAY_ADMIN", standard), "address of the admin server, host:port or unix:///path (env AHPRELAY_ADMIN)")
	cmd.Flags().StringVar(&o.tokenFile, "admin-token-file", p.getenv("AHPRELAY_ADMIN_TOKEN_FILE", ""), "file with the admin token (env AHPRELAY_ADMIN_TOKEN_FILE)")
	cmd.Flags().Lookup("admin").DefValue = standard
	return o
}

// client returns a client of the admin server, which the caller closes.
func (o *operator) client() (*admin.Client, error) {
	if _, err := config.ParseAdmin(o.admin); err != nil {
		return nil, usage("--admin: %q %w", o.admin, err)
	}
	return admin.NewClient(o.admin, o.tokenFile, func(name string) string { return o.p.getenv(name, "") })
}
