// main.go - the same gauge as render.c in client_golang (Debian:
// golang-github-prometheus-client-golang-dev): what it costs to gather and to write it. Prints
// lines as render.c does.
package main

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strconv"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

func cpuSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}

func measure(series, rounds int) {
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ferry_migration_data_remaining_bytes", Help: "Still to be moved.",
	}, []string{"namespace", "name", "source", "target", "migration"})
	registry.MustRegister(gauge)
	for i := 0; i < series; i++ {
		value := float64(i%100000) / 1000
		if i%2 == 0 {
			value = float64(i * 4096)
		}
		gauge.WithLabelValues("production", fmt.Sprintf("guest-%05d", i%50000),
			fmt.Sprintf("node-%03d", i%997), fmt.Sprintf("node-%03d", i*7%997),
			fmt.Sprintf("migration-%08d", i)).Set(value)
	}
	var times []float64
	size := 0
	for i := 0; i < rounds; i++ {
		began := cpuSeconds()
		var page bytes.Buffer
		families, err := registry.Gather()
		if err != nil {
			panic(err)
		}
		for _, family := range families {
			if _, err := expfmt.MetricFamilyToText(&page, family); err != nil {
				panic(err)
			}
		}
		size = page.Len()
		times = append(times, cpuSeconds()-began)
	}
	sort.Float64s(times)
	fmt.Printf("client_golang\t%d\t%.4f\t%d\n", series, times[len(times)/2]*1e6/float64(series), size)
}

func main() {
	for _, word := range os.Args[1:] {
		series, err := strconv.Atoi(word)
		if err != nil {
			os.Exit(2)
		}
		measure(series, 7)
	}
}
