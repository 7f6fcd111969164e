package manifest

import "testing"

func TestFuelIsReadAndWrittenInThousands(t *testing.T) {
	for text, want := range map[string]Fuel{"1": 1, "999": 999, "5K": 5e3, "200M": 2e8, "5G": 5e9, "5 G": 5e9, "2T": 2e12, "1500": 1500} {
		got, err := ParseFuel(text)
		if err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
	}
	for f, want := range map[Fuel]string{0: "0", 1: "1", 1500: "1500", 5e9: "5G", 2e8: "200M", 1e12: "1T", 1e15: "1000T"} {
		if got := f.String(); got != want {
			t.Errorf("%d is written %s, want %s", int64(f), got, want)
		}
		if back, err := ParseFuel(f.String()); err != nil || back != f {
			t.Errorf("%s is read as %d, %v", f, back, err)
		}
	}
	for _, bad := range []string{"", "G", "-1", "1.5G", "5GB", "5g", "9999999999T"} {
		if _, err := ParseFuel(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
