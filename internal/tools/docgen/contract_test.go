package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"maestro/engine"
)

// The numbers in docs/contract.md, "Late reports and lost sessions" and "HTTP", are those of the code.
func TestContractMatchesNumbers(t *testing.T) {
	content, err := os.ReadFile("../../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	limits := limitsPage()
	for _, want := range []string{
		fmt.Sprintf("The lease is %d s", engine.DefaultLease/time.Second),
		fmt.Sprintf("and %d min for one that never has", engine.QuietLease/time.Minute),
	} {
		if !strings.Contains(strings.ReplaceAll(page, "\n", " "), want) {
			t.Errorf("the page does not say: %s", want)
		}
	}
	named := regexp.MustCompile("(\\d+) MiB \\(`([a-z-]+)`\\)").FindAllStringSubmatch(page, -1)
	for _, n := range named {
		_, row, _ := strings.Cut(limits, "\n| `"+n[2]+"` | ")
		bytes, _, _ := strings.Cut(row, " bytes")
		if mebibytes(bytes) != n[1] {
			t.Errorf("the limit %s is %q bytes, but the page says %s MiB", n[2], bytes, n[1])
		}
	}
	if len(named) != 2 {
		t.Errorf("the page names %d limits with numbers", len(named))
	}
}

// mebibytes returns a number of bytes, as a page writes it, in MiB.
func mebibytes(bytes string) string {
	n := 0
	for _, digit := range strings.ReplaceAll(bytes, ",", "") {
		n = n*10 + int(digit-'0')
	}
	return fmt.Sprint(n >> 20)
}
