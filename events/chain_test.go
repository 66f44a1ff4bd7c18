package events

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestChain(t *testing.T) {
	bodies := [][]byte{[]byte("one"), []byte("two"), []byte("three")}
	var head Hash
	for _, body := range bodies {
		// By hand, as in docs/contract.md, "Events": SHA-256(prevhash ‖ SHA-256(body)).
		inner := sha256.Sum256(body)
		want := Hash(sha256.Sum256(append(append([]byte{}, head[:]...), inner[:]...)))
		if head = Next(head, BodyHash(body)); head != want {
			t.Fatalf("got %s, want %s", head, want)
		}
	}

	// An export that replaces a body by its hash still leads to the same head.
	withheld := Next(Hash{}, BodyHash(bodies[0]))
	withheld = Next(withheld, Hash(sha256.Sum256([]byte("two"))))
	withheld = Next(withheld, BodyHash(bodies[2]))
	if withheld != head {
		t.Error("a withheld body breaks the chain")
	}
	for i := range bodies {
		var other Hash
		for j, body := range bodies {
			if i == j {
				body = append([]byte("x"), body...)
			}
			other = Next(other, BodyHash(body))
		}
		if other == head {
			t.Errorf("a changed body %d gives the same head", i)
		}
	}
	swapped := Next(Next(Next(Hash{}, BodyHash(bodies[1])), BodyHash(bodies[0])), BodyHash(bodies[2]))
	if swapped == head {
		t.Error("two bodies swapped give the same head")
	}
}

func TestHashText(t *testing.T) {
	hash := BodyHash([]byte("x"))
	parsed, err := ParseHash(hash.String())
	if err != nil || parsed != hash {
		t.Errorf("%s reads as %s, %v", hash, parsed, err)
	}
	if hash.IsZero() || !(Hash{}).IsZero() {
		t.Error("IsZero is wrong")
	}
	for _, text := range []string{"", "00", strings.Repeat("0", 63), strings.Repeat("0", 65), strings.Repeat("g", 64)} {
		if _, err := ParseHash(text); err == nil {
			t.Errorf("%q is accepted as a hash", text)
		}
	}
	head := Head{Sequence: 7, Hash: hash}
	if want := "7:" + hash.String(); head.String() != want {
		t.Errorf("got %s, want %s", head, want)
	}
	text, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`{"sequence":7,"hash":"%s"}`, hash); string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var back Head
	if err := json.Unmarshal(text, &back); err != nil || back != head {
		t.Errorf("read %s, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"hash":"00"}`), &back); err == nil {
		t.Error("a short hash is accepted")
	}
}

func TestDamageIsReadOnly(t *testing.T) {
	err := fmt.Errorf("open: %w", &DamageError{Sequence: 7, Why: "it is gone"})
	if !errors.Is(err, ErrReadOnly) || errors.Is(err, ErrFull) {
		t.Error("a damaged log must be a read-only one, and nothing else")
	}
	if !strings.Contains(err.Error(), "sequence 7: it is gone") {
		t.Errorf("says %q", err)
	}
}
