from loynes.cli.app import main

main()
