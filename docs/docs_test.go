// Package docs_test keeps the documents true to the repository: what they link to and name exists, what
// they show compiles, and what the README tells its reader to do works.
package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
	"github.com/ahprelay/ahprelay/relay"
)

// root is the repository, seen from here.
const root = ".."

func exists(name string) bool {
	found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil && len(found) > 0
}

// TestLinks follows every relative link, to a file or to a heading in one.
func TestLinks(t *testing.T) {
	all := documents(t)
	for _, d := range all {
		for _, target := range d.links() {
			if strings.Contains(target, "://") {
				continue
			}
			file, heading, _ := strings.Cut(target, "#")
			name := d.name
			if file != "" {
				name = path.Join(path.Dir(d.name), file)
			}
			if !exists(name) {
				t.Errorf("%s links to %s, which is not there", d.name, target)
				continue
			}
			at := slices.IndexFunc(all, func(o *document) bool { return o.name == name })
			if heading != "" && (at < 0 || !slices.Contains(all[at].anchors(), heading)) {
				t.Errorf("%s links to %s, which has no such heading", d.name, target)
			}
		}
	}
}

var (
	pathForm = regexp.MustCompile(`^\.?[A-Za-z0-9_*-][A-Za-z0-9_.*-]*(/[A-Za-z0-9_.*-]+)*/?$`)
	fileForm = regexp.MustCompile(`\.(go|s|md|toml|mod|txt)$`)
	hostForm = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+/`) // how a module's name begins
	wireName = regexp.MustCompile(`"(client/[A-Za-z]+)"`)
)

// made are files that a document tells its reader to make.
var made = []string{"greeter/main.go", "hello/main.go"}

// TestPaths looks for every file and folder that is named as code.
func TestPaths(t *testing.T) {
	var methods []string
	for _, m := range wireName.FindAllStringSubmatch(read(t, "codec/name.go"), -1) {
		methods = append(methods, m[1])
	}
	for _, d := range documents(t) {
		for _, span := range d.spans() {
			top, _, nested := strings.Cut(span, "/")
			isPath := pathForm.MatchString(span) && (fileForm.MatchString(span) || nested && exists(top))
			if isPath && !exists(span) && !slices.Contains(made, span) && !slices.Contains(methods, span) {
				t.Errorf("%s names %s, which is not there", d.name, span)
			}
		}
	}
}

var (
	keyForm    = regexp.MustCompile(`\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b`)
	tableForm  = regexp.MustCompile(`^(?:limits|auth|tls)\.[a-z0-9_]+$`)
	assignment = regexp.MustCompile(`^([a-z0-9_]+) = `)
	metricForm = regexp.MustCompile(`^(?:ahprelay|go|process)_`)
)

// logged are attributes of log lines that documents name.
var logged = []string{"token_file"}

// TestKeys looks for every configuration key that is named as code and reads every TOML block as a
// configuration file.
func TestKeys(t *testing.T) {
	var full, short []string
	for _, k := range config.Keys() {
		full = append(full, k.Name)
		short = append(short, k.Name[strings.LastIndexByte(k.Name, '.')+1:])
	}
	for f := range reflect.TypeFor[relay.Principal]().Fields() {
		short = append(short, f.Tag.Get("toml"))
	}
	for _, d := range documents(t) {
		for _, span := range d.spans() {
			if tableForm.MatchString(span) && !slices.Contains(full, span) {
				t.Errorf("%s names the key %s, which is unknown", d.name, span)
			}
			if pathForm.MatchString(span) && fileForm.MatchString(span) || hostForm.MatchString(span) ||
				metricForm.MatchString(span) || slices.Contains(logged, span) {
				continue
			}
			keys := keyForm.FindAllString(span, -1)
			if m := assignment.FindStringSubmatch(span); m != nil {
				keys = append(keys, m[1])
			}
			for _, key := range keys {
				if !slices.Contains(short, key) {
					t.Errorf("%s names the key %s, which is unknown", d.name, key)
				}
			}
		}
		for _, b := range d.blocks {
			if b.info != "toml" {
				continue
			}
			if _, err := config.Parse(d.name, b.code); err != nil {
				t.Errorf("the configuration at %s:%d: %v", d.name, b.line, err)
			}
		}
	}
}

var metricDefinition = regexp.MustCompile(`(?:gauge|counter|counters|durations|describe)\("([a-z_]+)"`)

// TestMetrics compares the metrics in the operator's manual with those that there are, both ways.
func TestMetrics(t *testing.T) {
	defined := []string{"ahprelay_build_info"}
	for _, m := range metricDefinition.FindAllStringSubmatch(read(t, "cmd/ahprelay/admin/metrics.go"), -1) {
		defined = append(defined, "ahprelay_"+m[1])
	}
	manual := find(t, documents(t), "docs/operations.md")
	var named []string
	for _, span := range manual.spans() {
		if strings.HasPrefix(span, "ahprelay_") {
			named = append(named, span)
		}
	}
	for _, b := range manual.blocks {
		named = append(named, regexp.MustCompile(`\bahprelay_[a-z_]+`).FindAllString(b.code, -1)...)
	}
	for _, name := range named {
		if !slices.Contains(defined, name) {
			t.Errorf("docs/operations.md names the metric %s, which is unknown", name)
		}
	}
	for _, name := range defined {
		if !slices.Contains(named, name) {
			t.Errorf("docs/operations.md lacks the metric %s", name)
		}
	}
}

var saidForm = regexp.MustCompile(`(?:msg|detail)=(?:"([^"]+)"|(\S+))`)

// TestLogLines looks for the message and the detail of every log line that is shown.
func TestLogLines(t *testing.T) {
	var code strings.Builder
	for _, name := range sources(t) {
		if !strings.HasSuffix(name, "_test.go") {
			code.WriteString(read(t, name))
		}
	}
	lines := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.info != "log" {
				continue
			}
			for _, m := range saidForm.FindAllStringSubmatch(b.code, -1) {
				lines++
				said := strings.TrimRight(m[1]+m[2], "0123456789ms") // a duration at the end is the configuration's
				if !strings.Contains(code.String(), `"`+said) {
					t.Errorf("%s:%d: nothing logs %q", d.name, b.line, said)
				}
			}
		}
	}
	if lines == 0 {
		t.Error("no log line is shown")
	}
}

var codeForm = regexp.MustCompile(`-32\d{3}\b`)

// TestCodes compares the error codes in all documents with those of the codec, both ways.
func TestCodes(t *testing.T) {
	defined := codeForm.FindAllString(read(t, "codec/code.go"), -1)
	all := documents(t)
	for _, d := range all {
		for _, code := range codeForm.FindAllString(d.text, -1) {
			if !slices.Contains(defined, code) && code != strconv.Itoa(int(client.CodeServiceError)) {
				t.Errorf("%s names the code %s, which is unknown", d.name, code)
			}
		}
	}
	protocol := find(t, all, "docs/protocol.md").spans()
	for _, code := range defined {
		if !slices.Contains(protocol, code) {
			t.Errorf("docs/protocol.md lacks the code %s", code)
		}
	}
	for r := relay.Reason(0); r <= relay.ReasonShutdown; r++ {
		if !slices.Contains(protocol, r.String()) {
			t.Errorf("docs/protocol.md lacks the closing reason %s", r)
		}
	}
}

var (
	testForm = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w*$`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
)

// TestTests looks for every test that is named as code.
func TestTests(t *testing.T) {
	there := map[string]bool{}
	for _, name := range sources(t) {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(read(t, name), -1) {
				there[m[1]] = true
			}
		}
	}
	for _, d := range documents(t) {
		for _, span := range d.spans() {
			if testForm.MatchString(span) && !there[span] {
				t.Errorf("%s names %s, which is not there", d.name, span)
			}
		}
	}
}

var requirement = regexp.MustCompile(`(?m)^\t(\S+) v\S+`)

// TestDependencies looks for the reason of every module that a package of the repository imports.
func TestDependencies(t *testing.T) {
	var modules []string
	for _, m := range requirement.FindAllStringSubmatch(read(t, "go.mod"), -1) {
		modules = append(modules, m[1])
	}
	slices.Sort(modules)
	slices.Reverse(modules) // the longer of two that begin alike comes first
	reasons := find(t, documents(t), "docs/design.md").spans()
	for _, imported := range imports(t) {
		at := slices.IndexFunc(modules, func(m string) bool { return imported == m || strings.HasPrefix(imported, m+"/") })
		if at >= 0 && !slices.Contains(reasons, modules[at]) {
			t.Errorf("docs/design.md gives no reason for the dependency %s", modules[at])
			reasons = append(reasons, modules[at]) // once is enough
		}
	}
}

// imports returns what the packages of this module import, each path once.
func imports(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, name := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			all = append(all, strings.Trim(i.Path.Value, `"`))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sources returns the Go files of this module, named from the root.
func sources(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || isModule(name)):
			return fs.SkipDir
		case filepath.Ext(name) != ".go":
			return nil
		}
		name, err = filepath.Rel(root, name)
		all = append(all, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
