package egress

import (
	"errors"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

var refusedAddresses = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
	"127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.0", "172.31.255.255",
	"192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255",
	"198.51.100.1", "203.0.113.255", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::2", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "5f00::1", "4000::", "1fff:ffff::",
	"::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:a9fe:a9fe", "::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1",
	"64:ff9b::169.254.169.254", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::",
	"2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:1ff:ffff::", "2001:db8::1", "3fff::1", "3fff:fff:ffff::",
	"fe80::1%eth0", "2606:4700::1%eth0",
}

var openAddresses = []string{
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
	"168.63.129.15", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
	"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
	"2000::1", "2001:200::1", "2001:db7:ffff::", "2001:db9::", "2003::1", "2606:4700:4700::1111", "2a00:1450::1", "3fff:1000::",
}

func TestAddresses(t *testing.T) {
	for _, text := range refusedAddresses {
		to := netip.AddrPortFrom(netip.MustParseAddr(text), 443)
		var refused *RefusedError
		err := Guard{}.CheckAddr(to)
		if !errors.As(err, &refused) || !errors.Is(err, ErrRefusedTarget) || refused.Reason != ReasonAddress || refused.Addr != to.Addr() {
			t.Errorf("%s: got %v", text, err)
		}
	}
	for _, text := range openAddresses {
		if err := (Guard{}).CheckAddr(netip.AddrPortFrom(netip.MustParseAddr(text), 443)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if (Guard{}).CheckAddr(netip.AddrPort{}) == nil {
		t.Error("no address at all is admitted")
	}
}

// The rule written another way: bit patterns for IPv4, and for IPv6 that nothing
// outside of 2000::/3 is admitted, whatever it wraps.
func TestAddressesAgainstBits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(r, "address"))
		if rapid.Bool().Draw(r, "zeros") {
			clear(b[:rapid.IntRange(0, 12).Draw(r, "leading zeros")])
		}
		six := netip.AddrFrom16(b)
		if open := refuseAddress(six) == nil; open && b[0]>>5 != 1 {
			r.Fatalf("%s is admitted", six)
		}
		n := uint32(b[12])<<24 | uint32(b[13])<<16 | uint32(b[14])<<8 | uint32(b[15])
		four := netip.AddrFrom4([4]byte(b[12:]))
		private := n>>24 == 10 || n>>20 == 0xac1 || n>>16 == 0xc0a8 || n>>16 == 0xa9fe || n>>24 == 127 || n>>24 == 0 || n>>28 >= 14 || n>>22 == 0x191
		if open := refuseAddress(four) == nil; open && private {
			r.Fatalf("%s is admitted", four)
		}
		if refuseAddress(netip.AddrFrom16(four.As16())) == nil {
			r.Fatalf("%s is admitted in IPv6", four)
		}
	})
}
