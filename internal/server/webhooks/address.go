package webhooks

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"maestro/service/wire"
)

// AddressError says why nothing is sent to an address. Match it with errors.As.
type AddressError struct {
	// Address is the address, What says which kind it is.
	Address, What string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("nothing is sent to %s, %s, %s", e.Address, e.What, wire.UnlessAllowed)
}

// Next says what the operator can do.
func (e *AddressError) Next() string {
	return wire.AllowNext
}

// special are the networks that are not part of the public internet, or lead to a network behind them.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a provider's own network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata service"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for examples"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for examples"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for examples"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("::/96"), "an unspecified address"},
	{netip.MustParsePrefix("64:ff9b::/96"), "an address that NAT64 translates"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an address that NAT64 translates"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for examples"},
	{netip.MustParsePrefix("2002::/16"), "an address of a tunnel"},
	{netip.MustParsePrefix("3fff::/20"), "an address for examples"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

// global is where public IPv6 addresses are; everything outside it is reserved.
var global = netip.MustParsePrefix("2000::/3")

// allowed are the networks that the operator allows besides the public internet. To these, webhooks also send without
// TLS.
type allowed []netip.Prefix

// check refuses an address, nil if events may be sent to it. secure says that they are sent with TLS.
func (a allowed) check(address netip.Addr, secure bool) error {
	address = address.Unmap().WithZone("")
	if slices.ContainsFunc(a, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return nil
	}
	for _, s := range special {
		if s.prefix.Contains(address) {
			return &AddressError{address.String(), s.what}
		}
	}
	switch {
	case !address.IsValid(), address.Is6() && !global.Contains(address):
		return &AddressError{address.String(), "a reserved address"}
	case !secure:
		return &AddressError{address.String(), "without TLS"}
	}
	return nil
}

// control refuses a connection to an address that is not allowed. It sees the address that the connection is about to
// be made to, so a name that resolves to another address at each look-up does not help.
func (a allowed) control(secure bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return &AddressError{address, "which is not an IP address"}
		}
		return a.check(to.Addr(), secure)
	}
}

// checkURL refuses a URL to which nothing would be sent, as far as it shows that: a name is looked up only for a
// connection.
func (a allowed) checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil { // a decision accepted it
		return errUnreadable
	}
	secure, host := u.Scheme == "https", u.Hostname()
	if !secure && u.Scheme != "http" || host == "" {
		return nil // the decision refuses it in its own words
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if address, err := netip.ParseAddr(host); err == nil {
		return a.check(address, secure)
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return a.check(netip.AddrFrom4([4]byte{127, 0, 0, 1}), secure)
	}
	if !secure && len(a) == 0 {
		return &AddressError{u.Host, "without TLS"}
	}
	return nil
}

var errUnreadable = errors.New("the URL cannot be read: after % there must be two hexadecimal digits")

// doubt says why it is not certain that anything is sent to a URL that checkURL accepts; "" if nothing is known.
func (a allowed) doubt(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || len(a) == 0 {
		return ""
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return "" // checkURL has looked at it
	}
	networks := make([]string, len(a))
	for i, network := range a {
		networks[i] = network.String()
	}
	return "Without TLS, events are sent to " + u.Host + " only if its name leads to a network that the operator " +
		"allows: " + strings.Join(networks, ", ")
}

// ParseAllowed parses networks that the operator allows, such as 10.1.0.0/16, or single addresses.
func ParseAllowed(texts []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); err != nil && single == nil {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither a network, such as 10.1.0.0/16, nor an address", text)
		}
		if prefix != prefix.Masked() {
			return nil, fmt.Errorf("%q has bits after its prefix; did you mean %s?", text, prefix.Masked())
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}
