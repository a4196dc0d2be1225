package apiserver_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A pin", func() {
	It("holds a Release on a render", func() {
		release := applied(env.Namespace(GinkgoTB()))
		a := admin().put(release, pinOn(release, refB))
		Expect(a.code).To(Equal(200), "%s", a.body)
		GinkgoWriter.Printf("%s\n%v\n", a.body, current(release).Pin)
	})
})
