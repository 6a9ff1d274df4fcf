package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// others are variables with the prefix that set no key: they belong to the command line.
var others = []string{EnvPrefix + "CONFIG", EnvPrefix + "RELAY", EnvPrefix + "TOKEN_FILE", EnvPrefix + "CLIENT_ID", EnvPrefix + "ADMIN_TOKEN_FILE"}

// readEnv sets what environ, in the form of os.Environ, sets.
func (l *Loaded) readEnv(environ []string) []error {
	var errs []error
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(others, name) || orchestrated(name) {
			continue
		}
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Env() == name })
		if i < 0 {
			known := append(names(Key.Env), others...)
			errs = append(errs, fmt.Errorf("unknown environment variable %s, the nearest known one is %s", name, Nearest(name, known)))
			continue
		}
		if err := setText(keys[i].field(&l.Config), value); err != nil {
			errs = append(errs, errors.New(name+": "+err.Error()))
			continue
		}
		l.origins[keys[i].Name] = Origin{Kind: FromEnv, Name: name}
	}
	return errs
}

// orchestrated reports whether name is one of the variables that container orchestrators put into
// every container beside a service that is called ahprelay.
func orchestrated(name string) bool {
	rest := strings.TrimPrefix(name, EnvPrefix)
	for _, pattern := range []string{`PORT`, `SERVICE_HOST`, `SERVICE_PORT(_[A-Z0-9_]+)?`, `PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?`} {
		if ok, _ := regexp.MatchString("^("+pattern+")$", rest); ok {
			return true
		}
	}
	return false
}
