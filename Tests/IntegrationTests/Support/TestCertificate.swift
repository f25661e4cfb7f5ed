/// A certificate for `localhost` and 127.0.0.1 that signs itself, and its key. They are worth nothing outside of tests.
enum TestCertificate {
    static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIBmzCCAUGgAwIBAgIUVzWNEh3n/0fr51DT3DfLHx17c+QwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA5MTEyM1oYDzIxMjYxMDI4
        MDkxMTIzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAAQy1YGcZanaM2GnvvdvDQtgmwaA1rytRHWPWUT0KNPYBNHMHOVJ+T0L
        x3eF4nY/PxT+SJxD8Tly1mA/f4ZDgQTgo28wbTAdBgNVHQ4EFgQU220IZV7NgO1L
        3vmO9zlBYqzUZ+owHwYDVR0jBBgwFoAU220IZV7NgO1L3vmO9zlBYqzUZ+owGgYD
        VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
        zj0EAwIDSAAwRQIgR6D2JskJlnGeJtFkT18qk970KplTR7MXyYcqodcMs84CIQCl
        LcuTvHGLypthVEtkmyfP5j3ZQL61kzpgCgKBvotq0A==
        -----END CERTIFICATE-----
        """

    static let keyPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgiLYH3cZ3VUEn0blk
        NLOJo40bGRe8Iu6kPOxwc0JXOY+hRANCAAQy1YGcZanaM2GnvvdvDQtgmwaA1ryt
        RHWPWUT0KNPYBNHMHOVJ+T0Lx3eF4nY/PxT+SJxD8Tly1mA/f4ZDgQTg
        -----END PRIVATE KEY-----
        """
}
