package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document is one Markdown file.
type document struct {
	name   string // from the root, with slashes
	text   string
	prose  string // text without its fenced blocks
	blocks []block
}

// block is one fenced block.
type block struct {
	info string // behind the opening fence, such as "sh run"
	code string
	line int // of the opening fence
}

// read returns the text of a file, named from the root.
func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// documents returns the README and everything in docs.
func documents(t *testing.T) []*document {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	names := []string{"README.md"}
	for _, f := range files {
		names = append(names, "docs/"+f)
	}
	var all []*document
	for _, name := range names {
		all = append(all, parse(name, read(t, name)))
	}
	return all
}

// parse takes a document apart.
func parse(name, text string) *document {
	d := &document{name: name, text: text}
	var prose strings.Builder
	var open *block
	number := 0
	for line := range strings.Lines(text) {
		number++
		fence := strings.HasPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{info: strings.TrimSpace(strings.TrimPrefix(line, "```")), line: number}
		case fence:
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.code += line
		default:
			prose.WriteString(line)
		}
	}
	d.prose = prose.String()
	return d
}

func find(t *testing.T, all []*document, name string) *document {
	t.Helper()
	at := slices.IndexFunc(all, func(d *document) bool { return d.name == name })
	if at < 0 {
		t.Fatalf("no %s", name)
	}
	return all[at]
}

var (
	spanForm    = regexp.MustCompile("`([^`]+)`")
	linkForm    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingForm = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	droppedForm = regexp.MustCompile(`[^\pL\pN _-]`)
)

// spans returns the text of every code span in the prose, line breaks as spaces.
func (d *document) spans() []string {
	var all []string
	for _, m := range spanForm.FindAllStringSubmatch(d.prose, -1) {
		all = append(all, strings.Join(strings.Fields(m[1]), " "))
	}
	return all
}

// links returns the target of every link in the prose.
func (d *document) links() []string {
	var all []string
	for _, m := range linkForm.FindAllStringSubmatch(spanForm.ReplaceAllString(d.prose, ""), -1) {
		all = append(all, m[1])
	}
	return all
}

// anchors returns the names under which the headings can be linked to.
func (d *document) anchors() []string {
	var all []string
	for _, m := range headingForm.FindAllStringSubmatch(d.prose, -1) {
		text := droppedForm.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}
