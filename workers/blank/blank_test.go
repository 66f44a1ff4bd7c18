package blank

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

const value = "p\"ass/w+rd & <é>\n1"

var known = []string{value, "plain-value-1234", "plain-value-12345678", "short"}

// Values are replaced wherever they are, and in each form in which a program writes them.
func TestValuesAreBlanked(t *testing.T) {
	s := Of(known...)
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(`{"password":` + string(encoded) + `}`)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(encoded))
	for text, want := range map[string]string{
		"a " + value + " b":                      "a [blanked]\n1 b",
		`{"p":` + string(encoded) + `}`:          `{"p":"[blanked]"}`,
		`{"p":` + plain + `}`:                    `{"p":"[blanked]"}`,
		`{"p":` + string(twice) + `}`:            `{"p":"{\"password\":\"[blanked]\"}"}`,
		"https://x/?p=" + url.QueryEscape(value): "https://x/?p=[blanked]",
		"plain-value-12345678plain-value-1234":   "[blanked][blanked]",
		"plain-value-123456":                     "[blanked]56",
		"a short one":                            "a short one",
		"":                                       "",
	} {
		if got := s.Blank(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestTokensAreBlanked(t *testing.T) {
	filler := strings.Repeat("aB3", 20)
	for _, token := range []string{
		"sk-ant-api03-" + filler, "sk-proj-" + filler, "ghp_" + filler, "github_pat_" + filler, "AKIAIOSFODNN7EXAMPLE",
		"AIza" + filler, "xoxb-1234567890-abc", "glpat-" + filler, "npm_" + filler, "hf_" + filler, "ya29." + filler,
		"mss_sess_1.1." + filler, "msu_builder.3." + filler, "msu_" + filler, "mlc_ABCDEFGH", "1//0" + filler,
		"msr_local~sess_1.1." + filler,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + filler,
		"-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY-----",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA==\n-----END OPENSSH PRIVATE KEY-----",
	} {
		for _, around := range [][2]string{
			{"", ""}, {" ", " "}, {`{"a":"`, `"}`}, {`{"a":"x\n`, `\n"}`}, {"A=", "\n"}, {"(", ")"}, {"Bearer ", ""},
		} {
			text := around[0] + token + around[1]
			got := Of().Blank(text)
			if strings.Contains(got, "aB3") || strings.Contains(got, token) || strings.Contains(got, "b3Blb") ||
				!strings.HasPrefix(got, around[0]+mark) || !strings.HasSuffix(got, around[1]) {
				t.Errorf("%q is %q", text, got)
			}
		}
	}
	for _, text := range []string{
		"task-1234567890123456789012345", "the task_ghp_is_not_one_of_these_at_all", "sk-short", "AKIA", "eyJ.eyJ",
		"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----", "a-----BEGIN nothing", "mss_short",
		"BEGIN PRIVATE KEY", "0xmsu_ and more", "xAKIAIOSFODNN7EXAMPLE",
	} {
		if got := Of().Blank(text); got != text {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// After the begin of a private key that has no end, what is not part of a key is kept.
func TestUnfinishedKeyEnds(t *testing.T) {
	const text = "x -----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIabc+/=\n" +
		"{\"type\":\"result\"}\nMIIabc\n"
	got := Of().Blank(text)
	if want := "x [blanked]\n[blanked]\n\n[blanked]\n{\"type\":\"result\"}\nMIIabc\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is written does not depend on how it is divided, and a complete line is not held back.
func TestPartsDoNotMatter(t *testing.T) {
	parts := []string{
		"\n", "\n\n", "MIIabc", value, "plain-value-1234", "plain-value-12345678", " ", "x", `"`, `\n`, "sk-ant-",
		strings.Repeat("aB3", 9), "eyJ", ".", "-----BEGIN ", "PRIVATE KEY-----", "-----END ", "mss_", "plain-",
		strings.Repeat("z", 3000), strings.Repeat("-", 700), strings.Repeat("sk-", 500),
	}
	s := Of(known...)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		length, begin := 40, 0
		if seed%30 == 0 {
			length, begin = 3000, 4 // hardly any lines, so that they are longer than what is held
		}
		for range length {
			text.WriteString(parts[begin+r.IntN(len(parts)-begin)])
		}
		whole := s.Blank(text.String())
		var out bytes.Buffer
		w := s.Writer(&out)
		for rest := text.String(); rest != ""; {
			n := 1 + r.IntN(min(len(rest), 1+r.IntN(5000)))
			if written, err := w.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatal(written, err)
			}
			complete := strings.HasSuffix(rest[:n], "\n")
			rest = rest[n:]
			if complete && len(w.held) != 0 {
				t.Fatalf("seed %d: a complete line is held back: %q", seed, w.held)
			}
			if len(w.held) > maxHeld {
				t.Fatalf("seed %d: %d bytes are held", seed, len(w.held))
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != whole {
			t.Fatalf("seed %d: in parts %q, at once %q", seed, out.String(), whole)
		}
		for _, secret := range []string{known[1], known[2], strings.Split(value, "\n")[0]} {
			if strings.Contains(whole, secret) {
				t.Fatalf("seed %d: %q is left", seed, secret)
			}
		}
	}
}

type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriterReportsErrors(t *testing.T) {
	w := Of().Writer(full{})
	if n, err := w.Write([]byte("held")); n != 4 || err != nil {
		t.Error(n, err)
	}
	if n, err := w.Write([]byte(" and written\n")); n != 0 || !errors.Is(err, errFull) {
		t.Error(n, err)
	}
	_, _ = w.Write([]byte("held"))
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"ANTHROPIC_API_KEY": true, "gh_token": true, "DB_PASSWORD": true, "AWS_SECRET_ACCESS_KEY": true, "HOME": false,
		"GOOGLE_APPLICATION_CREDENTIALS": true, "ANTHROPIC_BASE_URL": false, "PATH": false, "SESSION_COOKIE": true,
	} {
		if SecretName(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// A secret in a very long line is found wherever the line is divided.
func TestLongLinesHideNoSecret(t *testing.T) {
	s := Of(known...)
	for _, secret := range []string{known[1], "sk-ant-" + strings.Repeat("aB3", 9)} {
		for k := range len(secret) + 2 {
			for _, at := range []int{maxHeld - maxMatch - k, maxHeld - k, 2*maxHeld - maxMatch - k} {
				text := strings.Repeat("x", maxHeld-maxMatch) + secret + strings.Repeat(" ", maxMatch)
				if got := s.Blank(text); secret != known[1] && got != text {
					t.Fatalf("a part of a word is blanked")
				}
				text = strings.Repeat(" ", at) + secret + strings.Repeat(" ", maxHeld)
				if got := s.Blank(text); got != strings.Replace(text, secret, mark, 1) {
					t.Fatalf("%s at %d is left or moved", secret, at)
				}
			}
		}
	}
}
