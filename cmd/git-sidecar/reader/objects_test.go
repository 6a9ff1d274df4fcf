package reader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
	"github.com/ahprelay/ahprelay/codec"
)

func TestObjectsAnswer(t *testing.T) {
	f := fixture.New(t, "--object-format=sha256")
	text, binary, gone := f.Blob("grüße \"<\n"), f.Blob("\xff\x00"), strings.Repeat("0", 64)
	b := newBench(t, f)
	b.expect("getObjects", `{"repo":"work","oids":["`+text+`","`+gone+`","`+binary+`","`+text+`"]}`,
		`{"objects":[{"oid":"`+text+`","type":"blob","size":11,"encoding":"utf-8","data":"grüße \"<\n"},`+
			`{"oid":"`+binary+`","type":"blob","size":2,"encoding":"base64","data":"/wA="}],"missing":["`+gone+`"],"truncated":[]}`)
	b.expect("getObjects", `{"repo":"work","oids":[]}`, `{"objects":[],"missing":[],"truncated":[]}`)
	b.expect("getObjects", `{"repo":"work","oids":["`+text+`"],"maxBytes":0}`,
		`{"objects":[{"oid":"`+text+`","type":"blob","size":11,"encoding":"utf-8","data":""}],"missing":[],"truncated":["`+text+`"]}`)
}

func TestObjectRanges(t *testing.T) {
	f := fixture.New(t)
	oid := f.Blob("aüb") // a C3 BC b
	b := newBench(t, f)
	for _, c := range []struct{ part, want string }{
		{`{}`, `"offset":0,"encoding":"utf-8","data":"aüb"`},
		{`{"offset":1}`, `"offset":1,"encoding":"utf-8","data":"üb"`},
		{`{"offset":1,"length":2,"unit":"byte"}`, `"offset":1,"encoding":"utf-8","data":"ü"`},
		{`{"offset":1e0,"length":1}`, `"offset":1,"encoding":"base64","data":"ww=="`},
		{`{"offset":2}`, `"offset":2,"encoding":"base64","data":"vGI="`},
		{`{"length":0}`, `"offset":0,"encoding":"utf-8","data":""`},
		{`{"offset":4}`, `"offset":4,"encoding":"utf-8","data":""`},
		{`{"offset":9007199254740993,"length":9223372036854775807}`, `"offset":4,"encoding":"utf-8","data":""`},
	} {
		b.expect("getObjects", `{"repo":"work","oids":["`+oid+`"],"ranges":{"`+oid+`":`+c.part+`}}`,
			`{"objects":[{"oid":"`+oid+`","type":"blob","size":4,`+c.want+`}],"missing":[],"truncated":[]}`)
	}
	for limit, want := range []string{
		`"encoding":"utf-8","data":""`, `"encoding":"utf-8","data":"a"`, `"encoding":"utf-8","data":"a"`, `"encoding":"utf-8","data":"aü"`,
	} {
		b.expect("getObjects", fmt.Sprintf(`{"repo":"work","oids":["%s"],"maxBytes":%d}`, oid, limit),
			`{"objects":[{"oid":"`+oid+`","type":"blob","size":4,`+want+`}],"missing":[],"truncated":["`+oid+`"]}`)
	}
	b.expect("getObjects", `{"repo":"work","oids":["`+oid+`"],"maxBytes":1,"ranges":{"`+oid+`":{"offset":1}}}`,
		`{"objects":[{"oid":"`+oid+`","type":"blob","size":4,"offset":1,"encoding":"base64","data":"ww=="}],"missing":[],"truncated":["`+oid+`"]}`)
}

// fetch reads an object by as many requests as it takes.
func (b *bench) fetch(oid string) (data string, requests int) {
	b.t.Helper()
	for {
		answer := b.objects(ObjectsParams{OIDs: []string{oid}, Ranges: map[string]Range{oid: {Offset: int64(len(data)), Length: 1 << 40}}})
		requests++
		part := answer.Objects[0].bytes(b.t)
		data += part
		if len(answer.Truncated) == 0 {
			return data, requests
		}
		if part == "" || answer.Objects[0].Offset != int64(len(data)-len(part)) {
			b.t.Fatalf("no progress at %d of %d", len(data), answer.Objects[0].Size)
		}
	}
}

func TestBigObjectsComeInRanges(t *testing.T) {
	f := fixture.New(t)
	b := newBench(t, f)
	for name, data := range map[string]string{
		"text":     strings.Repeat("grüße, 世界 \"quoted\"\n", 10_000),
		"controls": strings.Repeat("\x01", 200_000),
		"html":     strings.Repeat("<&>", 100_000),
		"binary":   strings.Repeat("\xff\xfe\x00", 300_000),
		"mixed":    strings.Repeat("t", 200_000) + strings.Repeat("\xff", 200_000) + strings.Repeat("ü", 200_000),
		"streamed": strings.Repeat("0123456789abcdef", (repo.StreamedBytesMin+1<<20)/16),
	} {
		oid := f.Blob(data)
		for _, frame := range []int{1 << 20, 64 << 10} {
			if frame < 1<<20 && name == "streamed" {
				continue
			}
			b.frame = frame
			got, requests := b.fetch(oid)
			if got != data {
				t.Errorf("%s in frames of %d: %d bytes, want %d", name, frame, len(got), len(data))
			}
			if most := 7*len(data)/frame + 3; requests > most {
				t.Errorf("%s in frames of %d: %d requests", name, frame, requests)
			}
		}
	}
	b.frame = 1024
	small := strings.Repeat("\x02\xff", 500)
	if got, _ := b.fetch(f.Blob(small)); got != small {
		t.Error("a small object in tiny frames came back changed")
	}
}

func TestThousandObjectsInOneRequest(t *testing.T) {
	f := fixture.New(t)
	var want []string
	var oids []string
	for i := range 1000 {
		want = append(want, fmt.Sprintf("file %d\n", i))
	}
	var stream strings.Builder
	for i, text := range want {
		fmt.Fprintf(&stream, "blob\nmark :%d\ndata %d\n%s\n", i+1, len(text), text)
		fmt.Fprintf(&stream, "get-mark :%d\n", i+1)
	}
	oids = strings.Fields(f.GitInput(stream.String(), "fast-import", "--quiet"))
	b := newBench(t, f)
	answer := b.objects(ObjectsParams{OIDs: oids})
	if len(answer.Objects) != 1000 || len(answer.Missing)+len(answer.Truncated) != 0 {
		t.Fatalf("%d objects, %d missing, %d truncated", len(answer.Objects), len(answer.Missing), len(answer.Truncated))
	}
	for i, o := range answer.Objects {
		if o.OID != oids[i] || o.Data != want[i] {
			t.Fatalf("object %d is %v", i, o)
		}
	}
}

func TestSmallObjectsAreServedBeforeBigOnes(t *testing.T) {
	f := fixture.New(t)
	big, huge := f.Blob(strings.Repeat("b", 900_000)), f.Blob(strings.Repeat("h", repo.StreamedBytesMin+1))
	oids := []string{huge, big}
	for i := range 200 {
		oids = append(oids, f.Blob(fmt.Sprint(i)))
	}
	b := newBench(t, f)
	answer := b.objects(ObjectsParams{OIDs: oids})
	if !slices.Equal(answer.Truncated, []string{huge, big}) && !slices.Equal(answer.Truncated, []string{big}) && !slices.Equal(answer.Truncated, []string{huge}) {
		t.Errorf("truncated: %v", answer.Truncated)
	}
	for i, o := range answer.Objects[2:] {
		if o.Data != fmt.Sprint(i) {
			t.Errorf("object %d: %v", i, o)
		}
	}
	if len(answer.Objects[0].Data)+len(answer.Objects[1].Data) < 900_000 {
		t.Errorf("%d and %d bytes of the big ones", len(answer.Objects[0].Data), len(answer.Objects[1].Data))
	}
}

func TestFit(t *testing.T) {
	samples := []string{"", "a", "ü", "世", "😀", "\x00", "\"", "\n", "\xff", "a\xff", "ü\xff", "aaaaaaü", "\xc3", "aaaaaaa\xc3",
		strings.Repeat("\x01", 9), strings.Repeat("世", 5), strings.Repeat("\xff", 9), strings.Repeat("a", 9) + "\xff"}
	for _, sample := range samples {
		for _, whole := range []bool{true, false} {
			for room := range 60 {
				n := fit([]byte(sample), whole, room)
				if size := encodedLen([]byte(sample)[:n]); size > room {
					t.Errorf("%q, whole %v, room %d: %d bytes take %d", sample, whole, room, n, size)
				}
				if n == 0 && sample != "" && room >= 8 {
					t.Errorf("%q, whole %v, room %d: nothing fits", sample, whole, room)
				}
				if utf8.ValidString(sample) && !utf8.ValidString(sample[:n]) && room >= 8 {
					t.Errorf("%q, whole %v, room %d: cut inside a character at %d", sample, whole, room, n)
				}
				if room >= 59 && n < len(sample) && utf8.ValidString(sample) {
					t.Errorf("%q, whole %v: only %d bytes in plenty of room", sample, whole, n)
				}
			}
		}
	}
	for c := range 0x80 {
		if got, want := escapedLen(byte(c)), len(codec.AppendQuoted(nil, string(rune(c))))-2; got != want {
			t.Errorf("%q takes %d, not %d", rune(c), want, got)
		}
	}
}
